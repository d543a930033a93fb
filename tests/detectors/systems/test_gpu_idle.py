"""gpu-idle: the GPU waits most of the time, draws little power, or does less than before."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "gpu-idle"
N = 80
FELL = np.where(np.arange(N) < 40, 0.35, 0.08) * (1 + noise(N, 0.04))


def read(**curves: np.ndarray) -> Run:
    """Readings of the first GPU, or of more, beside a run of a language model."""
    return run({f"gpu.{name}".replace("_", "@gpu "): curve for name, curve in curves.items()}, trainer="verl")


def power(low_share: float) -> np.ndarray:
    return np.where(np.arange(240) % 12 < 12 * low_share, 240.0, 620.0) + noise(240, 12)


def test_a_gpu_that_works_a_sixth_of_the_time_is_named() -> None:
    used = np.where(np.arange(240) % 6 == 0, 95.0, 2.0) + noise(240, 0.5)
    finding = found(ID, read(util_0=used, util_1=90 + noise(240, 2)), Severity.WARNING)
    assert finding.metric == "gpu.util@gpu 0"
    assert "in 83 % of the readings" in finding.message


def test_low_power_in_most_of_the_step_is_named() -> None:
    assert "takes most of a step" in found(ID, read(power_0=power(5 / 6))).message


@pytest.mark.parametrize("values", [power(1 / 3), 560 + noise(240, 30), np.linspace(200, 600, 240)])
def test_usual_phases_one_level_and_a_drift_are_healthy(values: np.ndarray) -> None:
    assert silent(ID, read(power_0=values))


def test_gaps_while_it_saves_are_healthy() -> None:
    assert silent(ID, read(util_0=np.where(np.arange(240) % 40 < 3, 3.0, 92.0)))


def test_a_lasting_fall_is_found_where_it_is() -> None:
    finding = found(ID, run({"perf.mfu.actor": FELL, "length.mean": [300.0] * N}))
    assert finding.onset == pytest.approx(41, abs=3)
    assert "fell from 0.34" in finding.message
    assert found(ID, run({"gpu.util": 200 * FELL})).onset == finding.onset


def test_shorter_completions_explain_it() -> None:
    assert silent(ID, run({"perf.mfu.actor": FELL, "length.mean": np.where(np.arange(N) < 40, 600.0, 150.0)}))


def test_low_from_the_start_is_no_fall() -> None:
    assert silent(ID, run({"perf.mfu.actor": 0.1 * (1 + noise(N, 0.1))}))


def test_a_simulator_leaves_the_gpu_idle_by_nature() -> None:
    assert look(ID, run({"gpu.util@gpu 0": 5 + noise(N), "episode.length": [200.0] * N})).status is Status.NOT_MEASURED


def test_of_two_findings_the_earlier_is_told() -> None:
    assert "idle" in found(ID, run({"gpu.util@gpu 0": 5 + noise(N), "perf.mfu.actor": FELL}, trainer="verl")).message
