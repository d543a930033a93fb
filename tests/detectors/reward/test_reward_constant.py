"""reward-constant: a reward that carries no information from some step on."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import run

ID = "reward-constant"
N, AT = 120, 80
X = np.linspace(0, 1, N)


def noise(seed: int, size: float) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, size, N)


RISES = np.round(0.3 + 0.5 * X + noise(0, 0.06), 3)
ENTROPY = 1.5 - X + noise(1, 0.03)
LENGTH = 30 + noise(2, 2.0)


def test_a_verifier_that_fails_is_found_at_its_step() -> None:
    broken = np.where(np.arange(N) < AT, RISES, 0.0)
    finding = found(ID, run({"reward.mean": broken, "policy.entropy": ENTROPY, "length.mean": LENGTH}))
    assert (finding.onset, finding.interval, finding.severity) == (AT + 1, (AT, AT + 1), Severity.CRITICAL)
    assert "40 points" in str(finding.message)


def test_a_policy_that_collapses_at_once_is_none() -> None:
    broken = np.where(np.arange(N) < AT, RISES, 0.0)
    gone = np.where(np.arange(N) < AT, ENTROPY, 3.2 + noise(3, 0.03))
    assert silent(ID, run({"reward.mean": broken, "policy.entropy": gone, "length.mean": LENGTH}))


def test_a_policy_that_slides_to_the_floor_is_none() -> None:
    slides = np.round(np.clip(np.interp(np.arange(N), [0, 50, 80], [0.6, 0.6, 0.0]), 0, 1) * (1 + noise(4, 0.05)), 2)
    assert silent(ID, run({"reward.mean": slides, "policy.entropy": ENTROPY, "length.mean": LENGTH}))


def test_a_policy_that_stands_still_is_none() -> None:
    broken = np.where(np.arange(N) < AT, RISES, 0.0)
    still = np.where(np.arange(N) < AT, ENTROPY, ENTROPY[AT])
    assert silent(ID, run({"reward.mean": broken, "policy.entropy": still}))


def test_a_task_that_is_solved_is_none() -> None:
    solved = np.minimum(1.0, np.round(0.3 + 1.2 * X + noise(5, 0.03), 2))
    assert silent(ID, run({"reward.mean": solved, "policy.entropy": ENTROPY, "length.mean": LENGTH}))


def test_a_sparse_reward_that_stays_away_for_a_while_is_none() -> None:
    rare = (np.random.default_rng(6).random(N) < 0.1).astype(float)
    rare[-15:] = 0.0
    assert silent(ID, run({"reward.mean": rare, "policy.entropy": ENTROPY, "length.mean": LENGTH}))
