"""score-drops-at-once: a fall that no update explains."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "score-drops-at-once"
N = 200
STEADY = {"kl.old": 0.01 + noise(N, 0.001), "policy.clip_fraction": 0.05 + noise(N, 0.005)}


def returns(fall_at: int) -> np.ndarray:
    return np.where(np.arange(N) < fall_at, 300.0, 40.0) + noise(N, 15.0)


def test_a_fall_after_updates_of_the_usual_size_is_found() -> None:
    finding = found(ID, run({"reward.episode": returns(120), **STEADY}, algorithm="ppo"))
    assert finding.onset is not None
    assert 115 <= finding.onset <= 125
    assert finding.severity is Severity.WARNING


def test_a_fall_after_a_burst_of_the_divergence_is_the_updates_doing() -> None:
    burst = STEADY["kl.old"].copy()
    burst[118:121] = 2.0
    assert silent(ID, run({"reward.episode": returns(120), "kl.old": burst}, algorithm="ppo"))


def test_tools_whose_calls_all_take_as_long_as_the_limit_do_not_answer() -> None:
    usual, busy = 0.4 + noise(N, 0.02), np.linspace(0.4, 2.0, N) * (1 + noise(N, 0.1))
    unanswered = np.where(np.arange(N) < 120, usual, 30.0)
    assert found(ID, run({"tool.runtime.mean": unanswered}, algorithm="grpo"), Severity.CRITICAL).interval == (120, 121)
    for sound in (usual, busy, np.full(N, 30.0)):
        assert silent(ID, run({"tool.runtime.mean": sound}, algorithm="grpo"))


def test_returns_that_rise_are_healthy() -> None:
    assert silent(ID, run({"reward.episode": learning(N, 20, 300), **STEADY}, algorithm="ppo"))
