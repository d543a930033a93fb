"""preference-loss-above-chance: worse on the pairs than the model that training began with."""

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "preference-loss-above-chance"


def test_a_held_out_loss_above_ln_2_is_found_although_the_accuracy_grows() -> None:
    curves = {"eval.loss": np.linspace(0.9, 0.76, 8), "eval.pref.reward.accuracy": np.linspace(0.55, 0.64, 8)}
    finding = found(ID, run({**curves, "loss.total": 0.5 + noise(8, 0.1)}, algorithm="dpo"), Severity.CRITICAL)
    assert finding.metric == "eval.loss"


@pytest.mark.parametrize("late", [0.3, 0.6931, 0.70])
def test_a_loss_at_or_below_chance_is_healthy(late: float) -> None:
    assert silent(ID, run({"loss.total": np.r_[1.2, 0.9, np.full(20, late)]}, algorithm="dpo"))


def test_batches_that_swing_around_chance_are_healthy() -> None:
    assert silent(ID, run({"loss.total": 0.72 + noise(40, 0.3)}, algorithm="dpo"))


def test_other_losses_have_another_chance_level() -> None:
    made = run({"loss.total": np.full(20, 1.5)}, algorithm="orpo")
    assert look(ID, made).status is Status.NOT_APPLICABLE
