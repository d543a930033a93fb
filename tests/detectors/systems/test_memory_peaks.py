"""memory-peaks: a job beside the training."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "memory-peaks"
N = 100
BUSY = (np.arange(N) % 20 >= 17).astype(float)
STEP = 40 * (1 + 0.4 * BUSY) + noise(N, 0.5)


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
