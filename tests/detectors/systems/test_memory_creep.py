"""memory-creep: memory that grows towards its limit."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "memory-creep"
N = 200
CREEP = 50 + 0.12 * np.arange(N) + noise(N, 0.3)


def test_a_leak_is_found_with_the_limit_that_memory_reaches() -> None:
    finding = found(ID, run({"memory.gpu_reserved": CREEP, "gpu.memory_size": np.full(N, 80.0)}), Severity.WARNING)
    assert "80 GB" in finding.message
    assert finding.numbers["steps_left"] == pytest.approx((80 - CREEP[-1]) / 0.12, rel=0.35)


def test_a_limit_far_away_is_a_notice() -> None:
    assert found(ID, run({"memory.gpu": 49 + 0.03 * np.arange(N) + noise(N, 0.05)})).severity is Severity.NOTICE


@pytest.mark.parametrize("signal", ["memory.cpu", "memory.gpu"])
def test_no_limit_is_assumed(signal: str) -> None:
    assert found(ID, run({signal: CREEP}), Severity.NOTICE).numbers["steps_left"] is None


def test_a_replay_buffer_that_fills_is_expected() -> None:
    assert look(ID, run({"memory.cpu": CREEP, "replay.size": 1000.0 * np.arange(N)})).expected


@pytest.mark.parametrize(
    "memory",
    [
        np.full(N, 70.0),
        70 + noise(N, 1),
        30 + 40 * (1 - np.exp(-np.arange(N) / 10)),
        np.maximum.accumulate(60 + noise(N, 2)),  # a peak since the start
        CREEP[::-1],
    ],
    ids=["constant", "noisy", "warm-up", "peak", "shrinks"],
)
def test_healthy_memory(memory: np.ndarray) -> None:
    assert silent(ID, run({"memory.gpu_reserved": memory}))


def test_the_advice_is_for_what_grows() -> None:
    assert "sequence" in found(ID, run({"memory.gpu_reserved": CREEP}, algorithm="grpo")).message
    assert "buffers" in found(ID, run({"memory.gpu_reserved": CREEP}, algorithm="dqn")).message
