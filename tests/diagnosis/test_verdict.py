"""What to do with a run of which nothing is known to be broken."""

from __future__ import annotations

import numpy as np
import pytest

from firstbreak.diagnosis.diagnose import diagnose
from firstbreak.model import Action
from tests.make import learning, noise, run

SWINGS = 10 * np.sign(np.sin(np.arange(200) / 8)) + noise(200, 1.0)


@pytest.mark.parametrize("score", [SWINGS, np.full(100, 10.1)])
def test_a_score_that_goes_nowhere_is_not_sent_on(score: np.ndarray) -> None:
    said = diagnose(run({"eval.reward": score}, algorithm="ppo"))
    assert (said.first_break, said.verdict.action) == (None, Action.WATCH)
    assert "random actions" in said.verdict.do_first


@pytest.mark.parametrize("score", [SWINGS + np.arange(200) / 5, learning(200), np.full(10, 10.1)])
def test_one_that_rises_or_is_short_goes_on(score: np.ndarray) -> None:
    said = diagnose(run({"eval.reward": score}, algorithm="ppo"))
    assert said.verdict.action is Action.CONTINUE
