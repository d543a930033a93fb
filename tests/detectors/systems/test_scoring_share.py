"""scoring-share: the reward function holds up the step."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "scoring-share"
N = 80


def timed(scoring: np.ndarray) -> Run:
    return run({"time.reward": scoring, "time.step": scoring + 60 + noise(N, 1.0)})


def test_scoring_that_grows_is_found_where_it_starts() -> None:
    finding = found(ID, timed(np.where(np.arange(N) < 45, 5.0, 90.0) + noise(N, 0.5)), Severity.WARNING)
    assert finding.onset == pytest.approx(46, abs=4)
    assert "scor" in finding.message


def test_a_slow_judge_from_the_start_is_the_bottleneck_too() -> None:
    assert found(ID, timed(np.full(N, 100.0))).severity is Severity.WARNING


def test_cheap_scoring_is_healthy() -> None:
    assert silent(ID, timed(np.full(N, 6.0) + noise(N, 0.5)))
