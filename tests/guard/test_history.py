"""Curves stay bounded, cover the whole run evenly, and lose nothing that is not finite."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.live.guard.history import CAPACITY, MOST_METRICS, RECENT, MetricHistory, Thinned, number


def thinned(n: int, broken: frozenset[int] = frozenset()) -> Thinned:
    curve = Thinned()
    for i in range(n):
        curve.add(i, math.nan if i in broken else float(i % 7))
    return curve


@given(n=st.integers(1, 6 * CAPACITY))
@settings(max_examples=15)
def test_the_points_of_a_long_run_lie_evenly_over_all_of_it(n: int) -> None:
    curve = thinned(n).curve()
    assert len(curve.values) <= CAPACITY
    assert len(curve.values) >= min(n, CAPACITY // 2)
    assert curve.index[0] == 0
    assert set(np.diff(curve.index)) <= {thinned(n).stride}
    assert np.array_equal(curve.values, curve.index % 7), "each point is a value that was logged at its step"


@given(at=st.integers(0, 5 * CAPACITY - 1))
@settings(max_examples=15)
def test_a_single_nan_survives_any_thinning(at: int) -> None:
    curve = thinned(5 * CAPACITY, frozenset({at})).curve()
    assert curve.index[np.isnan(curve.values)].tolist() == [at]


def test_names_that_never_end_do_not_fill_the_memory() -> None:
    history = MetricHistory()
    for step in range(3 * MOST_METRICS):
        history.add(step, {f"metric at step {step}": 1.0, "loss": 2.0})
    assert len(history.thinned) == MOST_METRICS
    assert len(history.curves()["loss"].values) == 3 * MOST_METRICS
    assert len(history.recent) == RECENT


def test_what_counts_as_a_number() -> None:
    assert [number(v) for v in (1, True, np.float32(2), np.array(3.0))] == [1.0, 1.0, 2.0, 3.0]
    assert [number(v) for v in (None, "4", b"5", [6], np.zeros(2), object())] == [None] * 6
