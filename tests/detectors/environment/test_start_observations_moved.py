"""start-observations-moved: observations that mean something else."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "start-observations-moved"


def test_another_scale_is_found() -> None:
    finding = found(ID, run({"env.start_spread": np.r_[0.03 + noise(20, 0.002), 0.0003 + noise(20, 2e-5)]}))
    assert finding.confidence is Confidence.HIGH
    assert finding.onset == 21


def test_the_noise_of_few_episodes_is_healthy() -> None:
    assert silent(ID, run({"env.start_spread": 0.03 + noise(60, 0.006)}))


def test_few_windows_say_nothing() -> None:
    assert look(ID, run({"env.start_spread": [1.0, 0.1]})).status is Status.NOT_MEASURED
