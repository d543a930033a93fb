"""Forecasts cover what comes, and say so when they cannot."""

import math

import numpy as np
import pytest
from benchmarks.curves import ar1_noise

from firstbreak.engine.stats.ceiling import arrival, outlook


def saturating(n: int, tau: float, top: float, rng: np.random.Generator) -> np.ndarray:
    return top * -np.expm1(-np.linspace(0, 1, n) / tau) + ar1_noise(rng, n, 0.3)


@pytest.mark.parametrize(("n", "tau"), [(15, 0.3), (60, 0.2), (200, 0.6)])
def test_the_ranges_cover_the_asymptote_and_the_gain(n: int, tau: float) -> None:
    rng = np.random.default_rng(n)
    asymptote, gain = [], []
    for _ in range(80):
        view = outlook(saturating(n, tau, 12.0, rng))
        assert view is not None
        (_, (low, high)), (_, (least, most)) = view.asymptote, view.gain(n - 1)
        asymptote.append(low <= 12 <= high)
        gain.append(least <= 12 * (math.exp(-1 / tau) - math.exp(-2 / tau)) <= most)
    assert np.mean(asymptote) >= 0.88
    assert np.mean(gain) >= 0.88


def test_a_plateau_promises_nothing_and_a_rise_does() -> None:
    rng = np.random.default_rng(0)
    done, rising = outlook(saturating(200, 0.05, 20.0, rng)), outlook(saturating(200, 1.0, 20.0, rng))
    assert done is not None
    assert rising is not None
    assert done.share > 0.98
    assert done.gain(200)[1][1] < 1.5
    assert rising.share < 0.8
    assert rising.gain(200)[1][0] > 1.5


def test_a_straight_line_has_no_known_ceiling() -> None:
    rng = np.random.default_rng(1)
    view = outlook(np.linspace(0, 10, 100) + rng.normal(size=100))
    assert view is not None
    _, (low, high) = view.asymptote
    assert high - low > 30


def test_the_forecast_of_the_last_step_is_the_curve() -> None:
    rng = np.random.default_rng(2)
    view = outlook(saturating(200, 0.2, 20.0, rng))
    assert view is not None
    level, (low, high) = view.at(0.0)
    assert low <= 19.87 <= high
    assert level == pytest.approx(19.9, abs=1)


def test_a_line_arrives_when_it_arrives() -> None:
    rng = np.random.default_rng(3)
    rise = 0.1 * np.arange(100) + 0.3 * rng.normal(size=100)
    early, late = arrival(rise, 20.0) or (math.nan, math.nan)
    assert early <= 101 <= late
    assert arrival(-rise, -20.0) is not None
    assert arrival(rise, -5.0) is None
    assert arrival(rise, 9.9) == (0.0, 0.0)


def test_a_saturating_curve_never_arrives_above_its_ceiling() -> None:
    rng = np.random.default_rng(4)
    assert arrival(saturating(200, 0.15, 20.0, rng), 30.0) is None


def test_noise_is_not_expected_anywhere() -> None:
    rng = np.random.default_rng(5)
    assert arrival(rng.normal(size=200), 40.0) is None
