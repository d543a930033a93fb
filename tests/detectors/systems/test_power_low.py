"""power-low: the phase of low power takes the step."""

import numpy as np
import pytest

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "power-low"


def phases(low_share: float) -> np.ndarray:
    return np.where(np.arange(240) % 12 < 12 * low_share, 240.0, 620.0) + noise(240, 12)


def test_low_power_in_most_of_the_step_is_named() -> None:
    said = found(ID, run({"gpu.power@gpu 0": phases(5 / 6)}, trainer="verl")).message
    assert "240 W" in said or "23" in said
    assert "takes most of a step" in said


@pytest.mark.parametrize("values", [phases(1 / 3), 560 + noise(240, 30), np.linspace(200, 600, 240)])
def test_usual_phases_one_level_and_a_drift_are_healthy(values: np.ndarray) -> None:
    assert silent(ID, run({"gpu.power@gpu 0": values}, trainer="verl"))
