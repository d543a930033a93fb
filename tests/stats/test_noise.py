"""The noise of a curve, whatever the curve does."""

from itertools import accumulate

import numpy as np
import pytest
from benchmarks.curves import ar1_noise

from firstbreak.engine.stats.noise import (
    autocorrelation,
    effective_size,
    likely_ar1,
    noise_scale,
    quasi_difference,
    spread,
    student_deviance,
)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_noise_is_measured_under_trend_jump_and_correlation(rho: float) -> None:
    rng = np.random.default_rng(0)
    curve = 20 * (1 - np.exp(-np.arange(600) / 60)) + 8.0 * (np.arange(600) > 400)
    measured = np.median([noise_scale(curve + ar1_noise(rng, 600, rho, 100.0)) for _ in range(15)])
    assert measured == pytest.approx(1, rel=0.2)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.7])
def test_short_samples_do_not_bias_the_autocorrelation(rho: float) -> None:
    rng = np.random.default_rng(1)
    assert np.mean([autocorrelation(ar1_noise(rng, 40, rho)) for _ in range(400)]) == pytest.approx(rho, abs=0.05)
    assert np.median([likely_ar1(ar1_noise(rng, 300, rho)) for _ in range(60)]) == pytest.approx(rho, abs=0.06)


def test_the_mean_of_correlated_points_is_worth_as_many_as_stated() -> None:
    rng = np.random.default_rng(2)
    means = [ar1_noise(rng, 100, 0.6).mean() for _ in range(1500)]
    assert 1 / np.var(means) == pytest.approx(effective_size(100, 0.6), rel=0.15)


def test_whitening_undoes_an_autoregression() -> None:
    innovations = np.random.default_rng(3).normal(size=50)
    noise = np.array(list(accumulate(innovations, lambda last, new: 0.7 * last + new)))
    np.testing.assert_allclose(quasi_difference(noise, 0.7)[1:], innovations[1:])


def test_the_deviance_prefers_the_true_correlation_and_tails() -> None:
    rng = np.random.default_rng(4)
    noise = ar1_noise(rng, 800, 0.5, 3.0)
    assert student_deviance(noise, 0.5) < min(student_deviance(noise, 0.0), student_deviance(noise, 0.9))
    wild = noise.copy()
    wild[100] += 50
    assert student_deviance(wild, 0.5) - student_deviance(noise, 0.5) < 60  # a normal likelihood loses thousands


def test_a_curve_of_mostly_one_value_still_has_a_spread() -> None:
    assert spread(np.array([0.0, 0, 0, 0, 0, 0, 1, 5])) > 0
    assert spread(np.array([2.0, 2, 2])) == 0
    assert spread(np.zeros(0)) == 0
