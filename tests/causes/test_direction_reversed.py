"""direction-reversed: the first cause where the loss turns round and the score falls from there."""

from __future__ import annotations

import numpy as np

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action
from tests.make import noise, run

ID = "direction-reversed"
N = 120
LATE = np.arange(N) >= 60
LOSS = np.where(LATE, -0.05, 0.05) + noise(N, 0.01)


def test_it_is_the_first_cause_and_ends_the_run() -> None:
    lost = np.where(LATE, 0.9 - np.arange(N) / 200, np.arange(N) / 100)
    curves = {"policy.loss": LOSS, "reward.mean": lost + noise(N, 0.03, 1), "eval.accuracy": lost + noise(N, 0.03, 2)}
    dx = diagnose(run(curves, algorithm="ppo"))
    assert dx.causes[0].id == ID
    assert dx.verdict.action in (Action.STOP, Action.ROLLBACK)


def test_a_loss_that_turns_under_a_score_that_rises_is_healthy() -> None:
    rises = np.arange(N) / 150
    curves = {"policy.loss": LOSS, "reward.mean": rises + noise(N, 0.03, 1), "eval.accuracy": rises + noise(N, 0.03, 2)}
    dx = diagnose(run(curves, algorithm="ppo"))
    assert all(cause.id != ID or cause.probability < 0.02 for cause in dx.causes)
    assert dx.verdict.action is Action.CONTINUE
