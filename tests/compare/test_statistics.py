"""Aggregates that are right to the digit, and intervals that hold for three runs as for thirty."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from firstbreak.compare import statistics
from firstbreak.compare.statistics import (
    difference,
    estimate,
    iqm,
    mean,
    probability_of_improvement,
    profile,
    runs_needed,
    smallest_visible,
)
from tests.lazy import lazy
from tests.there import there

scipy = lazy("scipy")

numbers = st.floats(-1e6, 1e6)
runs = arrays(float, st.integers(2, 30), elements=numbers)
three_or_more = arrays(float, st.integers(3, 30), elements=numbers)


@given(arrays(float, st.integers(1, 60), elements=numbers))
def test_the_interquartile_mean_is_scipys_trimmed_mean(values: np.ndarray) -> None:
    assert float(iqm(values)) == pytest.approx(scipy.stats.trim_mean(values, 0.25), rel=1e-9, abs=1e-6)


@given(st.lists(runs, min_size=1, max_size=5))
def test_the_mean_is_that_of_the_matrix(tasks: list[np.ndarray]) -> None:
    n = min(map(len, tasks))
    matrix = np.stack([task[:n] for task in tasks], axis=1)  # (runs, tasks), as the published code has it
    scores = list(matrix.T)
    assert mean(scores) == pytest.approx(np.mean(matrix.mean(axis=0)), rel=1e-9, abs=1e-6)


@given(runs, runs)
def test_the_probability_of_improvement_is_mann_whitneys(left: np.ndarray, right: np.ndarray) -> None:
    expected = scipy.stats.mannwhitneyu(right, left).statistic / (len(left) * len(right))
    found = probability_of_improvement([left], [right])
    assert found.value == pytest.approx(expected)
    assert found.interval is not None
    assert 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1


@given(three_or_more)
def test_what_is_compared_with_itself_does_not_differ(values: np.ndarray) -> None:
    found = difference([values], [values])
    assert found.value == 0
    assert found.interval is not None
    assert found.interval[0] <= 0 <= found.interval[1]
    assert probability_of_improvement([values], [values]).value == pytest.approx(0.5)


@settings(max_examples=30)
@given(three_or_more, st.floats(0.1, 100), st.floats(-100, 100))
def test_an_interval_moves_with_the_scale(values: np.ndarray, factor: float, shift: float) -> None:
    before, after = estimate([values]).interval, estimate([factor * values + shift]).interval
    assert before is not None
    assert after is not None
    tolerance = 1e-6 * (1 + abs(factor) * float(np.abs(values).max()))
    assert after == pytest.approx([factor * end + shift for end in before], abs=tolerance)


def test_the_profile_is_the_share_above_each_threshold() -> None:
    share, low, high = profile([np.array([0.0, 1.0]), np.array([2.0, 3.0])], np.array([-1.0, 0.5, 2.5, 3.0]))
    assert list(share) == [1, 0.75, 0.25, 0]
    assert np.all((low <= share) & (share <= high))


DRAWS: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "normal": lambda rng, n, tasks: rng.normal(size=(tasks, n)) * np.linspace(0.2, 0.6, tasks)[:, None],
    "skewed": lambda rng, n, tasks: rng.exponential(size=(tasks, n)) * np.linspace(0.2, 0.6, tasks)[:, None],
}


@pytest.mark.parametrize("shape", DRAWS)
@pytest.mark.parametrize(
    ("n", "tasks"), [(3, 1), *(pytest.param(*case, marks=pytest.mark.thorough) for case in ((5, 1), (3, 10), (10, 3)))]
)
def test_intervals_cover(shape: str, n: int, tasks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """500 draws: 95 % +- 3 standard errors of the simulation, and 1.5 % for what is not quite normal."""
    monkeypatch.setattr(statistics, "REPLICATIONS", 300)
    rng = np.random.default_rng(n * tasks)
    draw = DRAWS[shape]
    truth = float(iqm(np.concatenate(draw(rng, 100_000 // tasks, tasks))))
    alone = together = 0
    for _ in range(500):
        one, other = list(draw(rng, n, tasks)), list(draw(rng, n, tasks))
        low, high = estimate(one).interval or (0, 0)
        alone += low <= truth <= high
        low, high = difference(one, other).interval or (1, 1)
        together += low <= 0 <= high
    for hits in (alone, together):
        assert 0.905 <= hits / 500 <= 0.99


def test_the_percentile_bootstrap_of_three_runs_would_not_cover() -> None:
    """Why the deviations are stretched: without it three runs give a third of the false alarms that they should not."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(500):
        values = rng.normal(size=3)
        low, high = np.quantile(values[rng.integers(0, 3, (300, 3))].mean(axis=1), (0.025, 0.975))
        hits += low <= 0 <= high
    assert hits / 500 < 0.85


def test_one_run_and_two_give_no_interval() -> None:
    """Of two runs at -13 and -18 it would be -47 to 16, where no score lies outside -21 to 21."""
    three = [np.array([1.0, 2.0, 3.0])]
    for few in ([np.array([1.0])], [np.array([-13.0, -18.0])]):
        assert estimate(few).interval is None
        assert difference(few, three).interval is None
    assert estimate([np.array([1.0, 2.0]), np.array([3.0, 4.0])]).interval is not None  # two tasks


def test_the_number_of_runs_needed_really_finds_the_difference() -> None:
    rng = np.random.default_rng(3)
    left, right = [rng.normal(0, 1, 2000)], [rng.normal(0.8, 1, 2000)]
    n = there(runs_needed(left, right))
    found = sum(
        scipy.stats.ttest_ind(rng.normal(0, 1, n), rng.normal(0.8, 1, n), equal_var=False).pvalue < 0.05
        for _ in range(1000)
    )
    assert 0.74 < found / 1000 < 0.87


def test_nothing_to_find_needs_no_number() -> None:
    same = [np.array([1.0, 2.0, 3.0])]
    assert runs_needed(same, same) is None
    assert runs_needed([np.array([0.0, 1.0])], [np.array([1e-6, 1.0])]) is None


def test_more_runs_see_smaller_differences() -> None:
    rng = np.random.default_rng(0)
    many = [rng.normal(size=40)]
    few = [many[0][:4]]
    assert smallest_visible(many, many) < smallest_visible(few, few)
