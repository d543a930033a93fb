"""When it broke: an interval that is wide enough where the record is thin."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import widened
from firstbreak.model import Run
from tests.make import series


def recorded(steps: np.ndarray) -> Run:
    return Run(path="a-run", series={"reward.mean": series("reward.mean", np.zeros(len(steps)), steps)})


@pytest.mark.parametrize(
    ("steps", "begins"),
    [
        (np.arange(1, 101), 1),
        (np.arange(0, 100), 0),
        (np.arange(2048, 65536, 2048), 1),  # the first record of environment steps is not their first
        (np.arange(50_000, 60_000, 100), 50_000),  # resumed: of what lies before, this record says nothing
    ],
)
def test_what_the_first_record_shows_has_been_so_from_the_start(steps: np.ndarray, begins: float) -> None:
    first = float(steps[0])
    assert widened((first, first), recorded(steps)) == (begins, first)
