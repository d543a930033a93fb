"""reward-range-changed: rewards that take other values than before."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import run

ID = "reward-range-changed"
N = 60
LATE = np.arange(N) >= 30


def test_a_sign_that_turns_is_found() -> None:
    curves = {"reward.min": np.where(LATE, -1.0, 0.0), "reward.max": np.where(LATE, 0.0, 1.0)}
    finding = found(ID, run(curves, algorithm="grpo"))
    assert finding.onset == 31
    assert finding.severity is Severity.CRITICAL


def test_a_bonus_is_found() -> None:
    curves = {"reward.min": np.zeros(N), "reward.max": np.where(LATE, 1.5, 1.0)}
    assert found(ID, run(curves, algorithm="grpo")).severity is Severity.WARNING


def test_a_policy_that_never_succeeds_any_more_did_not_change_the_reward() -> None:
    curves = {"reward.min": np.zeros(N), "reward.max": np.where(LATE, 0.0, 1.0)}
    assert silent(ID, run(curves, algorithm="grpo"))


def test_a_first_success_is_healthy() -> None:
    curves = {"reward.min": np.zeros(N), "reward.max": np.where(LATE, 1.0, 0.0)}
    assert silent(ID, run(curves, algorithm="grpo"))


def test_the_best_return_of_a_game_grows_with_the_policy() -> None:
    best = np.where(np.arange(N) < 10, 2.0, np.linspace(2, 400, N))
    outcome = look(ID, run({"reward.max": best, "reward.min": np.zeros(N)}, algorithm="dqn"))
    assert outcome.status is Status.NOT_APPLICABLE
