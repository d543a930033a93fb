"""no-update: nothing reaches the weights."""

from typing import Any

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from firstbreak.values import replace
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "no-update"


def test_a_gradient_of_exactly_zero_is_critical() -> None:
    assert found(ID, run({"grad.norm": [0.0] * 50, "reward.mean": noise(50)}), Severity.CRITICAL).onset == 1


def test_zero_variance_groups_leave_nothing_to_update_with() -> None:
    made = run({"grad.norm": [0.0] * 50, "reward.zero_std_frac": [1.0] * 50, "reward.mean": noise(50)})
    assert look(ID, made).expected


def test_a_schedule_that_ends_at_zero_is_healthy() -> None:
    assert silent(ID, run({"lr": np.linspace(1e-4, 0, 50), "grad.norm": 1 + np.abs(noise(50))}))


def test_a_decay_that_is_printed_with_too_few_decimals_is_healthy() -> None:
    printed = np.repeat([4e-8, 3e-8, 2e-8, 1e-8, 0.0], 20)
    assert silent(ID, run({"lr": printed, "pref.loss": 0.6 + noise(100, 0.05)}))
    assert silent("learning-rate-gone", run({"lr": printed}))


def test_a_rate_that_ends_at_zero_is_a_matter_of_its_schedule() -> None:
    ended = run({"lr": np.repeat([4e-4, 0.0], 50)})
    assert silent(ID, ended)
    assert found("learning-rate-gone", ended).onset == 51


def test_a_learning_rate_of_zero_is_found() -> None:
    assert found(ID, run({"lr": [0.0] * 50})).metric == "lr"


def test_without_a_gradient_norm_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": noise(50)})).status is Status.NOT_MEASURED


def test_a_policy_that_never_moves_is_found_without_a_gradient_norm() -> None:
    still = {"policy.entropy": [5.675754] * 40, "kl.old": -np.abs(noise(40, 1e-9))}
    assert found(ID, run({**still, "lr": [3e-4] * 40}, algorithm="ppo")).severity is Severity.CRITICAL


def test_a_divergence_that_is_taken_before_the_step_is_healthy() -> None:
    moving = {"policy.entropy": np.linspace(1.6, 1.1, 40), "kl.old": noise(40, 1e-9), "lr": [3e-4] * 40}
    assert silent(ID, run(moving, algorithm="ppo"))


def test_columns_that_a_loop_never_fills_and_a_score_that_rises_say_that_it_learns() -> None:
    still = {"policy.entropy": [5.675754] * 40, "kl.old": np.zeros(40), "lr": [3e-4] * 40}
    assert silent(ID, run({**still, "policy.entropy": np.zeros(40)}, algorithm="grpo"))
    assert silent(ID, run({**still, "reward.mean": learning(40)}, algorithm="grpo"))


EXPLORED = {"epsilon": np.concatenate([np.linspace(1, 0.05, 10), np.full(50, 0.05)]), "reward.mean": 22 + noise(60)}


def test_exploration_that_ends_before_the_first_gradient_step_is_found() -> None:
    assert "learning_starts" in found(ID, run(EXPLORED, trainer="sb3", algorithm="dqn"), Severity.CRITICAL).message


def test_learning_may_begin_while_exploration_goes_on() -> None:
    early = {name: values[:11] for name, values in EXPLORED.items()}
    assert look(ID, run(early, trainer="sb3", algorithm="dqn")).status is Status.NOT_MEASURED


def test_a_log_without_losses_shows_nothing_of_a_trainer_that_may_not_write_them() -> None:
    assert look(ID, run(EXPLORED, algorithm="dqn")).status is Status.NOT_MEASURED
    assert silent(ID, run({**EXPLORED, "value.loss": np.ones(60), "lr": [1e-4] * 60}, trainer="sb3", algorithm="dqn"))


@pytest.mark.parametrize("at", [2, 30, 70])
def test_updates_that_end_within_the_run_are_found_where_they_end(at: int) -> None:
    norms = np.where(np.arange(100) < at, 1 + np.abs(noise(100, 0.2)), 0.0)
    finding = found(ID, run({"grad.norm": norms, "reward.mean": noise(100)}))
    assert (finding.severity, finding.onset) == (Severity.CRITICAL, at + 1)


def test_a_schedule_that_has_run_out_a_little_early_is_healthy() -> None:
    assert silent(ID, run({"lr": np.maximum(0, np.linspace(1e-4, -2e-6, 500))}))


def test_a_solved_task_leaves_nothing_to_update_with() -> None:
    norms = np.where(np.arange(100) < 60, 1 + np.abs(noise(100, 0.2)), 0.0)
    assert look(ID, run({"grad.norm": norms, "reward.accuracy": np.minimum(1, np.arange(100) / 50)})).expected


def test_a_gradient_that_is_zero_now_and_then_is_healthy() -> None:
    norms = np.where(np.arange(100) % 3 == 0, 1 + np.abs(noise(100, 0.2)), 0.0)
    assert silent(ID, run({"grad.norm": norms, "reward.mean": noise(100)}))


def test_a_policy_that_stays_at_its_reference_beside_a_score_that_stands_is_found() -> None:
    near = {"kl.ref": 0.002 + np.abs(noise(200, 0.001)), "reward.mean": 0.3 + noise(200, 0.05)}
    assert "too small" in found(ID, run({**near, "grad.norm": 0.3 + np.abs(noise(200, 0.1))}), Severity.WARNING).message
    learns = {**near, "reward.mean": learning(200), "grad.norm": 0.3 + np.abs(noise(200, 0.1))}
    assert silent(ID, run(learns))


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
MOVED = 5e-3 * (1 + np.abs(noise(60, 0.3)))


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


def test_weights_that_are_restored_from_some_step_on_are_found_there() -> None:
    clip = np.where(X < 30, 0.1, 0.0)
    assert found(ID, steps(np.where(X < 30, MOVED, 0.0), clip=clip, epochs_per_batch=4)).onset == 31


SCHEDULE = 3e-4 * np.maximum(1 - X / 30, 3e-5)


@pytest.mark.parametrize(
    "sound",
    [
        steps(MOVED, epochs_per_batch=4),
        steps(1e-8, updates_per_batch=1),  # the divergence is that before the step
        steps(0.0, rate=1e-8, updates_per_batch=24),  # so small that a divergence is rounding
        steps(MOVED * (SCHEDULE / 3e-4) ** 2, rate=SCHEDULE, epochs_per_batch=4),  # late in a schedule
        steps(MOVED * 0.7**X, entropy=0.6 * 0.7**X, epochs_per_batch=4),  # certain
        steps(
            np.where(X < 30, MOVED, 0.0), norm=np.where(X < 30, 10.0, 0.5), epochs_per_batch=4
        ),  # nothing more to learn
        steps(1e-8, clip=0.1, updates_per_batch=24),
    ],
)
def test_a_policy_that_has_reason_not_to_move_is_sound(sound: Run) -> None:
    assert silent(ID, sound)


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
