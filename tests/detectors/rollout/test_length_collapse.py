"""length-collapse: saying nothing."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "length-collapse"
SHRINKING = np.concatenate([np.full(40, 200.0), np.linspace(200, 2, 30), np.full(50, 2.0)]) + np.abs(noise(120, 0.5))


def test_silence_with_a_falling_score_is_critical() -> None:
    fall = np.concatenate([np.full(50, 0.6), np.full(70, 0.1)]) + noise(120, 0.03, 1)
    assert 35 <= found(ID, run({"length.mean": SHRINKING, "eval.accuracy": fall}), Severity.CRITICAL).onset <= 75


def test_shorter_because_sharper_is_healthy() -> None:
    assert silent(ID, run({"length.mean": SHRINKING, "eval.accuracy": learning(120)}))


def test_a_small_fall_is_healthy() -> None:
    assert silent(ID, run({"length.mean": np.linspace(100, 60, 120), "reward.mean": noise(120)}))


def test_lengths_that_collapse_in_the_last_tenth_are_found() -> None:
    lengths = np.where(np.arange(200) < 185, 300.0, 20.0) + noise(200, 3)
    assert found(ID, run({"length.mean": lengths, "reward.mean": noise(200)})).onset == pytest.approx(186, abs=3)
