"""gpu-idle: the GPU waits most of the time."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "gpu-idle"


def test_a_gpu_that_works_a_sixth_of_the_time_is_named() -> None:
    used = np.where(np.arange(240) % 6 == 0, 95.0, 2.0) + noise(240, 0.5)
    finding = found(ID, run({"gpu.util@gpu 0": used, "gpu.util@gpu 1": 90 + noise(240, 2)}, trainer="verl"))
    assert finding.severity is Severity.WARNING
    assert finding.metric == "gpu.util@gpu 0"
    assert "in 83 % of the readings" in finding.message


def test_gaps_while_it_saves_are_healthy() -> None:
    assert silent(ID, run({"gpu.util@gpu 0": np.where(np.arange(240) % 40 < 3, 3.0, 92.0)}, trainer="verl"))


def test_a_gpu_that_waits_only_later_is_another_finding() -> None:
    assert silent(ID, run({"gpu.util@gpu 0": np.where(np.arange(240) < 120, 90.0, 3.0)}, trainer="verl"))
