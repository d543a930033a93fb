"""learning-rate-negative: a schedule that goes on below 0."""

import numpy as np

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Link
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "learning-rate-negative"
STEPPED_TOO_OFTEN = 1e-3 * (1 - np.arange(150) / 26)


def test_a_rate_below_0_is_proved_with_its_first_value() -> None:
    finding = found(ID, run({"lr": STEPPED_TOO_OFTEN}))
    assert "the learning rate is negative (-3.846e-05)" in finding.message
    assert finding.onset == 28
    silent("learning-rate-gone", run({"lr": STEPPED_TOO_OFTEN}))


def test_it_is_the_first_break_before_what_it_does_to_the_critic() -> None:
    """As in a run whose score was kept while the value loss grew a millionfold."""
    score = np.r_[np.linspace(-500, -80, 20), np.full(130, -80.0)] + noise(150, 5)
    value = np.r_[np.full(28, 0.06), 0.06 * 1.15 ** np.arange(122)]
    made = run({"lr": STEPPED_TOO_OFTEN, "reward.mean": score, "value.loss": value}, algorithm="ppo")
    dx = diagnose(made)
    assert dx.first_break is not None
    assert dx.first_break.link is Link.POLICY_UPDATE
    assert dx.causes[0].id == "schedule-too-short"


def test_a_rate_that_ends_at_0_is_silent() -> None:
    silent(ID, run({"lr": np.linspace(1e-3, 0, 150)}))
