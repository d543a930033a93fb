"""length-cap-lowered: a limit that was lowered in mid-run."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "length-cap-lowered"
N = 80
HALF = np.arange(N) >= 40


def test_a_new_ceiling_with_more_cuts_is_found() -> None:
    curves = {"length.max": np.where(HALF, 128.0, 250 + noise(N, 5)), "length.clipped_ratio": np.where(HALF, 0.4, 0.01)}
    finding = found(ID, run(curves, algorithm="grpo"))
    assert finding.onset == 41
    assert finding.severity is Severity.CRITICAL


def test_a_policy_that_grows_concise_is_healthy() -> None:
    curves = {"length.max": 250 - np.arange(N) + noise(N, 5), "length.clipped_ratio": np.full(N, 0.01)}
    assert silent(ID, run(curves, algorithm="grpo"))
