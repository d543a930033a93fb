"""What must hold for every curve, however short, empty, large or broken."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.curves import ar1_noise, healthy, variant
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.engine.stats.ceiling import arrival, outlook
from firstbreak.engine.stats.noise import autocorrelation, noise_scale, spread
from firstbreak.engine.stats.onset import first_sustained, onset
from firstbreak.engine.stats.oscillation import oscillation, sign_reversal
from firstbreak.engine.stats.shape import trajectory
from firstbreak.engine.stats.smooth import smooth
from firstbreak.engine.stats.spikes import spikes, tail
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Series

FUNCTIONS: tuple[Callable[[Series], Any], ...] = (
    trend,
    onset,
    trajectory,
    smooth,
    lambda curve: spread(curve.finite.values),
    lambda curve: noise_scale(curve.finite.values),
    lambda curve: autocorrelation(curve.finite.values),
    outlook,
    lambda curve: arrival(curve, 1.0),
    oscillation,
    sign_reversal,
    spikes,
    tail,
    lambda curve: first_sustained(curve, lambda values: values > 0),
)


def series(values: Any, steps: Any = None) -> Series:
    values = np.asarray(values, float)
    return Series(name="x", steps=np.arange(float(len(values))) if steps is None else np.asarray(steps), values=values)


numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-10, 10),
    st.integers(0, 1).map(float),
    st.sampled_from([0.0, 1e300, -1e-300, math.nan, math.inf]),
)


@st.composite
def curves(draw: st.DrawFn) -> Series:
    """Any values at any non-decreasing steps, repeated ones included."""
    values = draw(st.lists(numbers, max_size=50))
    steps = np.cumsum(draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
    return series(values, np.asarray(steps, float))


@pytest.mark.slow
@given(curves())
def test_every_function_answers_every_curve_without_a_warning(curve: Series) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in FUNCTIONS:
            function(curve)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("start", [0.0, 7.0])
def test_up_to_three_points_tell_nothing(n: int, start: float) -> None:
    curve = series(start + np.arange(n) ** 2)
    line = trend(curve)
    assert line.flat
    assert line.interval == (-math.inf, math.inf)
    assert line.p == 1
    assert onset(curve) is None
    assert trajectory(curve).kind == "too_short"
    assert outlook(curve) is None
    assert oscillation(curve) is None
    assert len(spikes(curve)) == 0


@pytest.mark.parametrize("value", [0.0, 1.0, -3e7, 1e300, 1e-300])
@pytest.mark.parametrize("n", [4, 12, 300, 5000])
def test_a_constant_shows_no_trend_no_onset_and_no_spike(value: float, n: int) -> None:
    curve = series(np.full(n, value))
    assert trend(curve).flat
    assert trend(curve).change == 0
    assert onset(curve) is None
    assert trajectory(curve).kind == "flat"
    assert len(spikes(curve)) == 0


def test_rounding_of_a_large_constant_is_not_a_curve() -> None:
    values = 1e9 + np.tile([0.0, 1e-7], 50)
    assert onset(series(values)) is None
    assert trend(series(values)).flat


@pytest.mark.slow
@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-200, 1e-3, 7.0, 1e6, 1e200]),
    shift=st.floats(-100, 100),
    stride=st.sampled_from([1.0, 1e-3, 2048.0]),
    first=st.sampled_from([0.0, 1e6]),
)
def test_the_answer_does_not_depend_on_units(
    seed: int, scale: float, shift: float, stride: float, first: float
) -> None:
    rng = np.random.default_rng(seed)
    plain = variant(rng, ar1_noise(rng, 80, 0.3), rng.choice(["level", "ramp", "variance"]), 45, 5.0)
    other = series(scale * (plain + shift), first + stride * np.arange(80))
    here, there = onset(series(plain)), onset(other)
    assert (here is None) == (there is None)
    if here is not None and there is not None:
        assert (there.step - first) / stride == pytest.approx(here.step)
        assert (there.kind, there.direction) == (here.kind, here.direction)
        assert there.size == pytest.approx(here.size, rel=1e-6)
    line, same = trend(series(plain)), trend(other)
    assert same.slope * stride / scale == pytest.approx(line.slope, rel=1e-6, abs=1e-12)
    assert same.direction == line.direction
    shape, again = trajectory(series(plain)), trajectory(other)
    assert again.kind == shape.kind
    assert again.gain / scale == pytest.approx(shape.gain, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), holes=st.lists(st.integers(0, 80), min_size=1, max_size=30))
def test_points_that_are_not_numbers_change_nothing(seed: int, holes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    values = variant(rng, ar1_noise(rng, 80, 0.3), "level", 45, 5.0)
    steps = np.arange(80.0)
    bad = rng.choice([math.nan, math.inf, -math.inf], len(holes))
    holed = series(np.insert(values, holes, bad), np.insert(steps, holes, steps[np.minimum(holes, 79)]))
    assert onset(holed) == onset(series(values))
    assert trend(holed) == trend(series(values))
    assert trajectory(holed) == trajectory(series(values))


@pytest.mark.slow
@settings(max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_upside_down_is_the_other_direction(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = variant(rng, ar1_noise(rng, 80, 0.3), "level", 45, 5.0)
    up, down = onset(series(values), kinds=("level", "ramp")), onset(series(-values), kinds=("level", "ramp"))
    assert (up is None) == (down is None)
    if up is not None and down is not None:
        assert (up.step, up.direction) == (down.step, -down.direction)
    assert trend(series(values)).direction == -trend(series(-values)).direction


@pytest.mark.slow
def test_more_of_the_same_leaves_an_onset_where_it_was() -> None:
    kept = 0
    for seed in range(20):
        more = 20 + 9 * seed
        values = ar1_noise(np.random.default_rng(seed), 150 + more, 0.3) + 6.0 * (np.arange(150 + more) >= 90)
        before, after = onset(series(values[:150])), onset(series(values))
        kept += before is not None and after is not None and abs(after.step - before.step) <= 3
    assert kept >= 17  # no test of noise finds every step in every sample


@pytest.mark.slow
def test_more_healthy_points_invent_no_onset() -> None:
    rng = np.random.default_rng(5)
    invented = 0
    for shape in ("flat", "saturating", "logistic", "entropy", "cosine") * 6:
        values = healthy(rng, 300, shape, 10.0) + ar1_noise(rng, 300, 0.4)
        invented += onset(series(values[:200])) is None and onset(series(values)) is not None
    assert invented <= 3
