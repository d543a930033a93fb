"""The rate of improvement: steady, growing, falling, or not to be told."""

import numpy as np
import pytest

from firstbreak.engine.stats.rate import rate
from tests.make import noise, series

X = np.linspace(0, 1, 300)


@pytest.mark.parametrize(
    ("curve", "course"), [(X, "steady"), (X**3, "growing"), (1 - np.exp(-6 * X), "falling"), (X[::-1] ** 3, "growing")]
)
def test_a_clear_course_is_named(curve: np.ndarray, course: str) -> None:
    found = rate(series("reward.mean", curve + noise(300, 0.02)))
    assert found is not None
    assert found.course == course


def test_noise_hides_the_course() -> None:
    found = rate(series("reward.mean", X + noise(300, 3.0)))
    assert found is not None
    assert found.course == "unknown"


def test_eleven_points_are_too_few() -> None:
    assert rate(series("reward.mean", np.arange(11.0))) is None


def test_the_interval_holds_the_true_difference() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        found = rate(series("reward.mean", X**2 + 0.1 * rng.standard_normal(300)))
        assert found is not None
        inside += found.interval[0] <= 0.5 <= found.interval[1]
    assert inside >= 180
