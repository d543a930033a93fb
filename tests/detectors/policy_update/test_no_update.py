"""no-update: nothing reaches the weights."""

from typing import Any

import numpy as np
import pytest

from firstbreak.model import Run, Severity
from firstbreak.values import replace
from tests.detectors.look import found, look, silent
from tests.make import noise, run, series

ID = "no-update"


def test_a_decay_that_is_printed_with_too_few_decimals_is_healthy() -> None:
    printed = np.repeat([4e-8, 3e-8, 2e-8, 1e-8, 0.0], 20)
    assert silent(ID, run({"lr": printed, "pref.loss": 0.6 + noise(100, 0.05)}))
    assert silent("learning-rate-gone", run({"lr": printed}))


def test_a_rate_that_ends_at_zero_is_a_matter_of_its_schedule() -> None:
    ended = run({"lr": np.repeat([4e-4, 0.0], 50)})
    assert silent(ID, ended)
    assert found("learning-rate-gone", ended).onset == 51


def test_steps_that_are_rounded_away_are_found_by_how_little_the_policy_moves() -> None:
    def trained(kl: float, norm: float = 10.0) -> Run:
        curves = {
            "reward.mean": 30 + noise(60),
            "policy.entropy": 0.68 + noise(60, 0.001),
            "kl.old": kl * (1 + np.abs(noise(60))),
            "grad.norm": np.linspace(10, norm, 60),
            "lr": np.full(60, 1e-4),
        }
        return run(curves, config={"epochs_per_batch": 8}, algorithm="ppo")

    assert "rounded away" in found(ID, trained(2e-6)).message
    assert silent(ID, trained(2e-3))
    assert silent(ID, trained(2e-6, norm=0.1))  # nothing more to learn


X = np.arange(60)


def steps(kl: Any, entropy: Any = 0.68, rate: Any = 2.5e-3, norm: Any = 10.0, clip: Any = 0.0, **config: float) -> Run:
    """A hand-written PPO for control, whose optimizer is called: its columns, around the levels that are given."""
    curves = {
        "kl.old": kl + noise(60, 1e-9),
        "policy.clip_fraction": np.full(60, clip),
        "policy.entropy": entropy + noise(60, 0.001, seed=1),
        "value.loss": 40 + noise(60, 5.0, seed=2),
        "grad.norm": norm + noise(60, 0.01, seed=3),
        "lr": np.full(60, rate),
        "episode.length": 22 + noise(60),
        "reward.mean": 22 + noise(60, seed=4),
    }
    return run(curves, algorithm="ppo", config=config)


@pytest.mark.parametrize("config", [{}, {"updates_per_batch": 24}])
def test_an_optimizer_that_holds_other_parameters_is_found(config: dict[str, float]) -> None:
    said = found(ID, steps(1e-8, **config), Severity.CRITICAL)
    assert (said.onset, "holds other parameters" in said.message) == (1, True)
    assert silent("ratio-always-one", steps(1e-8, **config))  # which would name the log-probabilities


def test_old_log_probabilities_that_are_computed_again_leave_a_policy_that_moves() -> None:
    moving = steps(1e-8, entropy=np.linspace(0.69, 0.5, 60))
    assert silent(ID, moving)
    assert found("ratio-always-one", moving)


def test_a_library_that_counts_its_epochs_says_that_batches_are_used_again() -> None:
    def counted(each: int) -> Run:
        made = steps(1e-8)
        done = {"progress.updates": series("progress.updates", each * X), "progress.iterations": series("i", X)}
        return replace(made, trainer="sb3", series={**made.series, **done})

    assert found(ID, counted(10))
    assert silent(ID, counted(1))


def test_pairs_whose_policy_stays_at_its_reference() -> None:
    def pairs(logp: Any, rate: float = 5e-4) -> Run:
        zeros = {f"pref.reward.{which}": np.zeros(60) for which in ("chosen", "rejected")}
        logged = {"grad.norm": np.full(60, 0.1), "lr": np.full(60, rate), "pref.logp.chosen": logp + noise(60, 0.1)}
        return run({**zeros, **logged}, algorithm="dpo", trainer="trl")

    assert "holds other parameters" in found(ID, pairs(-35.0)).message
    assert silent("reference-is-policy", pairs(-35.0))
    assert silent(ID, pairs(-35.0 + X / 10))  # it moves: so does the reference
    assert found("reference-is-policy", pairs(-35.0 + X / 10))
    assert silent(ID, pairs(-35.0, rate=5e-10))


def test_a_divergence_from_the_reference_that_stays_at_0() -> None:
    def trained(kl: float, reward: Any = 0.3) -> Run:
        curves = {
            "kl.ref": kl + np.abs(noise(60, 1e-9)),
            "policy.entropy": 1.2 + noise(60, 0.02),
            "reward.mean": reward + noise(60, 0.05, seed=1),
            "grad.norm": np.full(60, 0.3),
            "lr": np.full(60, 2e-6),
        }
        return run(curves, algorithm="grpo", trainer="trl")

    assert "kl.ref is 2.325e-09 at most" in found(ID, trained(0.0)).message
    assert silent(ID, trained(1e-4))
    assert silent(ID, trained(0.0, reward=X / 60))


@pytest.mark.parametrize(("master", "says"), [(False, True), (True, False)])
def test_weights_in_bfloat16_without_a_copy_in_float32_round_small_steps_away(master: bool, says: bool) -> None:
    curves = {
        "kl.ref": 5e-4 + noise(40, 1e-3),
        "reward.mean": 0.5 + noise(40, 0.02, 1),
        "grad.norm": 7 + noise(40, 0.5, 2),
    }
    made = run(curves, algorithm="ppo", trainer="openrlhf")
    config = replace(made.config, raw={"param_dtype": "bf16", "master_weights": master})
    assert ("round small steps away" in str(look(ID, replace(made, config=config)).finding)) == says
