"""utilization-drop: the same work, and most of the hardware idle."""

import numpy as np
import pytest

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "utilization-drop"
N = 80
FELL = np.where(np.arange(N) < 40, 0.35, 0.08) * (1 + noise(N, 0.04))


def test_a_lasting_fall_is_found_where_it_is() -> None:
    finding = found(ID, run({"perf.mfu.actor": FELL, "length.mean": [300.0] * N}))
    assert finding.onset == pytest.approx(41, abs=3)
    assert "fell from 0.34" in finding.message
    assert found(ID, run({"gpu.util": 200 * FELL})).onset == finding.onset


def test_shorter_completions_explain_it() -> None:
    assert silent(ID, run({"perf.mfu.actor": FELL, "length.mean": np.where(np.arange(N) < 40, 600.0, 150.0)}))


def test_low_from_the_start_is_no_fall() -> None:
    assert silent(ID, run({"perf.mfu.actor": 0.1 * (1 + noise(N, 0.1))}))
