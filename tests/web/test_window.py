"""What is left of a curve when it has to fit a screen."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.model import Series
from firstbreak.serve.web.curves import window

VALUES = st.lists(st.floats(width=32, allow_nan=True), max_size=120)
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no finding


def series(values: list[float] | np.ndarray) -> Series:
    return Series(name="x", steps=np.arange(len(values), dtype=float), values=np.asarray(values, dtype=float))


@CALM
@given(VALUES, st.integers(4, 50))
def test_no_extreme_is_lost_and_the_limit_holds(values: list[float], points: int) -> None:
    curve = series(values)
    shown = window(curve, points)
    finite = curve.finite.values
    kept = shown["values"][np.isfinite(shown["values"])]
    assert len(kept) <= max(points, 4)
    assert shown["exact"] == (len(curve) <= points)
    if len(finite):
        assert (kept.min(), kept.max()) == (finite.min(), finite.max())
    assert len(shown["steps"]) == len(shown["values"])
    assert np.all(np.diff(shown["steps"]) >= 0)


@CALM
@given(VALUES, st.floats(-10, 130), st.floats(0, 100))
def test_a_narrow_window_is_exact_with_a_neighbour_on_each_side(
    values: list[float], start: float, width: float
) -> None:
    curve = series(values)
    shown = window(curve, 1000, start, start + width)
    inside = [i for i in range(len(values)) if start <= i <= start + width]
    assert shown["exact"]
    assert set(inside) <= set(shown["steps"])
    assert len(shown["steps"]) <= len(inside) + 2
    at = shown["steps"].astype(int)
    expected = np.where(np.isfinite(curve.values[at]), curve.values[at], np.nan)
    np.testing.assert_array_equal(shown["values"], expected)


def test_a_line_has_a_gap_where_the_log_has_one() -> None:
    values = np.sin(np.arange(10_000) / 50)
    values[4000:6000] = np.nan
    shown = window(series(values), 500)
    gap = np.flatnonzero(np.isnan(shown["values"]))
    assert len(gap) == 1
    assert shown["steps"][gap[0] - 1] < 4000
    assert shown["steps"][gap[0] + 1] >= 6000


def test_a_spike_of_one_point_in_a_million_is_seen() -> None:
    values = np.zeros(1_000_000)
    values[654_321] = 9.0
    curve = series(values)
    shown = window(curve, 800)
    assert len(shown["steps"]) <= 800
    assert shown["steps"][np.nanargmax(shown["values"])] == 654_321
    near = window(curve, 800, 654_300, 654_340)
    assert near["exact"]
    assert near["steps"].tolist() == list(range(654_299, 654_342))


@pytest.mark.parametrize("points", [4, 10])
def test_an_empty_curve_is_an_empty_curve(points: int) -> None:
    assert window(series([]), points)["steps"].tolist() == []
