"""Curves are thinned, scaled and drawn without losing what a report is read for: spikes, gaps and the onset."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from firstbreak.engine.inputs import Inputs
from firstbreak.model import Config, Run, Series
from firstbreak.reports import content, curves, sparkline, svg

ANY = arrays.arrays(np.float64, st.integers(1, 2000), elements=st.floats(width=64))
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def series(values: np.ndarray) -> Series:
    return Series(name="x", steps=np.arange(len(values), dtype=float), values=np.asarray(values, dtype=float))


@given(ANY)
def test_thinning_keeps_the_extremes_and_the_gaps(values: np.ndarray) -> None:
    whole = series(values)
    pieces = curves.thin(whole)
    kept = np.concatenate([piece.values for piece in pieces]) if pieces else np.array([])
    finite = whole.finite.values
    assert len(kept) <= curves.MOST_POINTS
    assert np.isfinite(kept).all()
    assert len(kept) > 0 or len(finite) == 0
    if len(finite):
        assert (kept.min(), kept.max()) == (finite.min(), finite.max())
    gaps = whole.steps[~np.isfinite(values)]
    for piece in pieces:
        assert not ((gaps > piece.steps[0]) & (gaps < piece.steps[-1])).any()


def test_a_short_curve_is_kept_whole() -> None:
    values = np.array([1.0, np.nan, 2.0, 3.0])
    assert [piece.values.tolist() for piece in curves.thin(series(values))] == [[1.0], [2.0, 3.0]]


@given(ANY, st.none() | FINITE)
def test_every_value_has_a_height(values: np.ndarray, level: float | None) -> None:
    scale = curves.scale(series(values), level)
    finite = values[np.isfinite(values)]
    assert (scale is None) == (len(finite) == 0)
    if scale is not None:
        heights = scale(finite)
        assert ((heights >= 0) & (heights <= 1)).all()


def test_the_level_comes_into_view_unless_it_would_flatten_the_curve() -> None:
    curve = series(np.array([0.0, 1.0]))
    near, far = curves.scale(curve, 2.0), curves.scale(curve, 100.0)
    assert near is not None
    assert far is not None
    assert (near.high, far.high) == (2.0, 1.0)


def test_an_explosion_is_drawn_on_a_log_scale() -> None:
    grown = curves.scale(series(10.0 ** np.linspace(0, 10, 50)))
    steady = curves.scale(series(np.linspace(1, 10, 50)))
    assert grown is not None
    assert steady is not None
    assert (grown.log, steady.log) == (True, False)


@given(st.floats(width=64))
def test_labels_fit_their_gutter(value: float) -> None:
    assert len(curves.label(value)) <= sparkline.GUTTER


def test_one_spike_among_ten_thousand_points_is_seen() -> None:
    values = np.ones(10_000)
    values[7_777] = 5.0
    top = sparkline.draw(series(values), (0, 9_999), 72, None, None)[0]
    assert top.count("█") == 1
    assert top.index("█") - sparkline.GUTTER - 1 == int(0.7777 * 61)


def test_a_value_that_is_not_finite_is_marked() -> None:
    values = np.ones(100)
    values[[3, 50]] = np.nan, np.inf
    lower = sparkline.draw(series(values), (0, 99), 31, None, None)[1]
    assert [i - sparkline.GUTTER - 1 for i, c in enumerate(lower) if c == "×"] == [0, 10]


def test_few_points_are_steps_and_no_slope_is_made_up() -> None:
    few = series(np.array([0.0, 1.0, 0.0, 1.0]))
    assert set(sparkline.line(few, 24)) == {"▁", "█"}
    assert len(sparkline.line(few, 40).split()) == len(few)  # so few that steps would be wide: points
    drawn = svg.path(few, curves.scale(few), (0, 3), 300, 100)
    assert drawn == "M0.0,100.0H100.0V0.0H200.0V100.0H300.0V0.0"


def test_a_sparse_curve_is_a_line_and_a_gap_is_none() -> None:
    values = np.array([1.0, 0.0, np.nan, np.nan, 1.0])
    lower = sparkline.draw(series(values), (0, 4), sparkline.GUTTER + 1 + 20, None, None)[1]
    drawn = lower[sparkline.GUTTER + 1 :]
    assert re.fullmatch(r"[▁-█]{6} {4}× {4}× {3}█", drawn)


def test_the_onset_stands_under_its_column() -> None:
    _, _, axis, steps = sparkline.draw(series(np.arange(101.0)), (0, 100), 61, 50, (40, 60))
    assert axis.index("▲") == sparkline.GUTTER + 1 + 25
    assert axis.count("━") == 10
    assert steps.split() == ["0", "50", "100"]
    assert steps.index("50") <= axis.index("▲") <= steps.index("50") + 2


def test_a_label_gives_way_to_the_ends_of_the_axis() -> None:
    assert sparkline.draw(series(np.arange(101.0)), (0, 100), 61, 1, None)[3].split() == ["0", "100"]


@given(ANY, st.integers(1, 120), st.none() | FINITE)
def test_any_curve_can_be_drawn_at_any_width(values: np.ndarray, width: int, onset: float | None) -> None:
    rows = sparkline.draw(series(values), (0, len(values) - 1.0), width, onset, None if onset is None else (0, onset))
    assert len(rows) == 4
    assert max(map(len, rows)) <= max(width, sparkline.GUTTER + 9)


@pytest.mark.parametrize("n", [1, 2])
def test_a_curve_of_one_step_is_a_column_of_its_own(n: int) -> None:
    flat = Series(name="x", steps=np.full(n, 7.0), values=np.ones(n))
    assert sparkline.draw(flat, (7.0, 7.0), 40, 7.0, (7.0, 7.0))[2].count("▲") == 1


def test_a_computed_curve_is_not_said_to_be_logged() -> None:
    logged = Series(name="length.mean", raw="completion_length", steps=np.arange(20.0), values=np.linspace(50, 100, 20))
    run = Run(path="x", series={"length.mean": logged}, config=Config(values={"max_new_tokens": 100}))
    assert content.origin(logged) == " (logged as completion_length)"
    assert content.origin(Inputs(run).truncation) == " (computed from completion_length)"
