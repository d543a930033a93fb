"""preference-saturated: pairs that give no gradient any more."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "preference-saturated"
AT_ONCE = np.r_[0.6931, 1e-4, np.full(9, 1e-8)]


def test_a_loss_of_zero_after_a_tenth_of_the_run_is_found() -> None:
    finding = found(ID, run({"loss.total": AT_ONCE, "pref.reward.margin": 18 * (1 - AT_ONCE)}, algorithm="dpo"))
    assert finding.onset == 2
    assert "learning rate" in finding.message


def test_pairs_that_are_learned_and_stay_uncertain_are_healthy() -> None:
    assert silent(ID, run({"loss.total": 0.6931 * np.exp(-np.arange(11) / 2) + 0.01}, algorithm="dpo"))


def test_a_loss_that_reaches_zero_in_the_last_pass_is_healthy() -> None:
    assert silent(ID, run({"loss.total": [0.6, 0.3, 0.1, 0.05, 0.01, 0.005, 1e-4, 1e-4, 1e-4, 1e-4]}, algorithm="dpo"))


def test_the_held_out_loss_counts_where_it_is_logged() -> None:
    learned_by_heart = {"loss.total": AT_ONCE, "eval.loss": np.full(11, 0.07), "pref.reward.margin": 18 * (1 - AT_ONCE)}
    assert silent(ID, run(learned_by_heart, algorithm="dpo"))
