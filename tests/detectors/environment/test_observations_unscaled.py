"""observations-unscaled: sizes and offsets that a network cannot use."""

import pytest

from tests.detectors.look import found, silent
from tests.make import run

ID = "observations-unscaled"


@pytest.mark.parametrize(
    ("size", "offset", "said"), [(5000.0, 9000.0, "away from 0"), (30_000.0, 0.0, "has the size 30000")]
)
def test_what_is_huge_or_far_from_0_is_named(size: float, offset: float, said: str) -> None:
    log = {"env.observation_size": [size] * 12, "env.observation_offset": [offset] * 12}
    assert said in found(ID, run(log)).message.replace(",", "")


def test_usual_sizes_and_those_of_simulators_are_healthy() -> None:
    for size in (1.0, 300.0):
        assert silent(ID, run({"env.observation_size": [size] * 12, "env.observation_offset": [20.0] * 12}))
