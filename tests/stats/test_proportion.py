"""Intervals of a share, against scipy's."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.engine.stats.proportion import wilson


@pytest.mark.slow
@settings(deadline=None)  # scipy, imported on the first call, takes its time
@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_it_is_wilsons_interval(counts: tuple[int, int]) -> None:
    from scipy import stats

    hits, n = counts
    reference = stats.binomtest(hits, n).proportion_ci(method="wilson")
    assert wilson(hits, n) == pytest.approx((reference.low, reference.high), abs=1e-9)


def test_nothing_seen_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
