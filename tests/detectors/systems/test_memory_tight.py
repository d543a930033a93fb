"""memory-tight: a device that is nearly full, always, in one phase or in peaks; and only of a size that is recorded."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "memory-tight"
SIZE = {"gpu.memory_size": np.full(60, 80.0)}
N = 100
BUSY = (np.arange(N) % 20 >= 17).astype(float)
STEP = 40 * (1 + 0.4 * BUSY) + noise(N, 0.5)


def share(low: float, high: float) -> np.ndarray:
    return np.where(np.arange(240) % 10 < 4, low, high) + noise(240, 0.3)


def test_a_device_that_is_nearly_full_is_worth_a_line() -> None:
    assert "80 GB" in found(ID, run({"memory.gpu": 78 + noise(60, 0.2), **SIZE}), Severity.NOTICE).message


def test_room_to_spare_is_healthy() -> None:
    assert silent(ID, run({"memory.gpu": 60 + noise(60, 0.2), **SIZE}))


def test_no_size_is_assumed() -> None:
    outcome = look(ID, run({"memory.gpu": 47.4 + noise(60, 0.2)}))
    assert outcome.finding is None
    assert "size of the device is not recorded" in outcome.note


def test_a_phase_that_is_nearly_full_is_named_beside_the_other() -> None:
    said = found(ID, run({"gpu.memory_share@gpu 0": share(65.0, 98.0)}), Severity.WARNING).message
    assert said.startswith("98 % of the GPU's memory")
    assert "65 % in the other" in said


@pytest.mark.parametrize("values", [share(65.0, 80.0), share(93.0, 98.0), 97 + noise(240, 0.3)])
def test_room_in_both_or_no_phases_is_another_matter(values: np.ndarray) -> None:
    assert silent(ID, run({"gpu.memory_share@gpu 0": values}))


def test_peaks_at_slow_steps_name_a_background_job() -> None:
    finding = found(ID, run({"memory.gpu": 55 + 8 * BUSY + noise(N, 0.2), "time.step": STEP}))
    assert finding.onset == 18
    assert "background job" in finding.message
    assert "every 20 steps" in finding.message


def test_slow_steps_without_peaks_are_another_finding() -> None:
    assert silent(ID, run({"memory.gpu": 55 + noise(N, 0.2), "time.step": STEP}))


def test_memory_that_moves_between_two_phases_is_healthy() -> None:
    phases = np.where(np.random.default_rng(0).uniform(size=N) < 0.5, 40.0, 52.0)
    assert silent(ID, run({"memory.gpu": phases, "time.step": 40 + noise(N, 0.5)}))


def test_the_most_serious_is_told_first() -> None:
    full = run({"memory.gpu": 78 + noise(60, 0.2), "gpu.memory_share@gpu 0": share(65.0, 98.0), **SIZE})
    assert "one phase" in found(ID, full).message
