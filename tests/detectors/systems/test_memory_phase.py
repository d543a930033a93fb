"""memory-phase: one phase is nearly full, and the other has room."""

import numpy as np
import pytest

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "memory-phase"


def share(low: float, high: float) -> np.ndarray:
    return np.where(np.arange(240) % 10 < 4, low, high) + noise(240, 0.3)


def test_a_phase_that_is_nearly_full_is_named_beside_the_other() -> None:
    said = found(ID, run({"gpu.memory_share@gpu 0": share(65.0, 98.0)}, trainer="verl")).message
    assert said.startswith("98 % of the GPU's memory")
    assert "65 % in the other" in said


@pytest.mark.parametrize("values", [share(65.0, 80.0), share(93.0, 98.0), 97 + noise(240, 0.3)])
def test_room_in_both_or_no_phases_is_another_matter(values: np.ndarray) -> None:
    assert silent(ID, run({"gpu.memory_share@gpu 0": values}, trainer="verl"))
