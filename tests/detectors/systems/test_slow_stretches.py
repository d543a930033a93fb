"""slow-stretches: somebody else uses the machine from time to time."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "slow-stretches"
N = 120
BUSY = ((np.arange(N) // 20) % 3 == 2).astype(float)


def test_two_slow_stretches_name_a_competing_job() -> None:
    finding = found(ID, run({"time.step": 30 * (1 + 1.5 * BUSY) + noise(N, 0.5), "length.mean": [300.0] * N}))
    assert 38 <= finding.onset <= 43
    assert "another job" in finding.message


def test_longer_completions_explain_slow_stretches() -> None:
    assert silent(ID, run({"time.step": 30 * (1 + 1.5 * BUSY), "length.mean": 300 * (1 + BUSY)}))


def test_one_lasting_change_and_single_slow_steps_are_other_findings() -> None:
    assert silent(ID, run({"time.step": np.where(np.arange(N) < 70, 30.0, 90.0)}))
    assert silent(ID, run({"time.step": np.where(np.arange(N) % 15 == 14, 90.0, 30.0)}))
