"""ratio-always-one: old log-probabilities that are not old."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "ratio-always-one"
STILL = {"policy.ratio.mean": [1.0] * 50, "policy.clip_fraction": [0.0] * 50}


def test_four_updates_and_a_ratio_of_one() -> None:
    assert "used 4 times" in found(ID, run(STILL, config={"updates_per_batch": 4}), Severity.WARNING).message


def test_one_update_makes_it_expected() -> None:
    assert look(ID, run(STILL, config={"updates_per_batch": 1})).expected


def test_without_the_number_of_updates_it_is_not_measured() -> None:
    assert look(ID, run(STILL, trainer="sb3")).status is Status.NOT_MEASURED


def test_a_ratio_that_moves_is_healthy() -> None:
    assert silent(ID, run({"policy.ratio.mean": 1 + noise(50, 0.01)}, config={"updates_per_batch": 4}))


def test_a_divergence_of_exactly_zero_counts_too() -> None:
    assert found(ID, run({"kl.old": [0.0] * 50}, config={"updates_per_batch": 4})).metric == "kl.old"


def test_a_policy_that_has_become_certain_cannot_move() -> None:
    dead = {**STILL, "policy.entropy": [1e-9] * 50}
    assert silent(ID, run(dead, config={"updates_per_batch": 4}))


def test_a_divergence_that_three_decimals_hide_is_not_measured() -> None:
    entropy = 0.4 + noise(50, 0.05)
    rounded = {"kl.old": [0.0] * 50, "policy.entropy": [round(x, 3) for x in entropy]}
    assert look(ID, run(rounded, config={"updates_per_batch": 4})).status is Status.NOT_MEASURED
    assert found(ID, run({**rounded, "policy.entropy": entropy}, config={"updates_per_batch": 4}))


def test_groups_with_equal_rewards_cannot_move_it() -> None:
    dead = {"policy.ratio.mean": np.ones(50), "reward.zero_std_frac": np.ones(50)}
    assert look(ID, run(dead, config={"updates_per_batch": 4})).expected


@pytest.mark.parametrize(
    ("defaulted", "status"),
    [({"minibatches", "epochs_per_batch"}, Status.NOT_MEASURED), ({"epochs_per_batch"}, Status.FOUND)],
)
def test_a_product_of_defaults_does_not_say_how_often_a_batch_is_used(defaulted: set[str], status: Status) -> None:
    made = run(STILL, config={"minibatches": 4, "epochs_per_batch": 1, "updates_per_batch": 4}, trainer="sb3")
    guessed = replace(made, config=replace(made.config, defaulted=frozenset(defaulted)))
    assert look(ID, guessed).status is status


@pytest.mark.parametrize(("trainer", "clipped", "warned"), [(None, 0.0, True), (None, 0.1, False), ("sb3", 0.0, False)])
def test_a_script_for_control_that_does_not_log_its_epochs(trainer: str | None, clipped: float, warned: bool) -> None:
    """A library stores the old log-probabilities, so there 0 means one update per batch."""
    curves = {"kl.old": [0.0] * 50, "policy.clip_fraction": [clipped] * 50, "episode.length": 20 + noise(50)}
    said = look(ID, run(curves, trainer=trainer))
    assert (said.finding is not None) is warned
    if warned:
        assert "if each batch is used more than once" in said.finding.message
