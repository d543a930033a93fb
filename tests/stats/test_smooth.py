"""Smoothing and healthy shapes."""

import numpy as np
import pytest

from firstbreak.engine.stats.smooth import (
    healthy_shapes,
    means_from_here,
    median_above,
    running_mean,
    running_median,
    smooth,
    without_spikes,
)


def test_running_windows_agree_with_references() -> None:
    from scipy import ndimage

    values = np.random.default_rng(0).normal(size=60)
    np.testing.assert_allclose(running_median(values, 5)[2:-2], ndimage.median_filter(values, 5)[2:-2])
    np.testing.assert_allclose(running_mean(values, 7)[3:-3], np.convolve(values, np.ones(7) / 7, "valid"))
    assert running_mean(values, 7)[0] == pytest.approx(values[:4].mean())
    assert running_median(values, 5)[0] == pytest.approx(np.median(values[:3]))


@pytest.mark.parametrize("kind", ["noise", "few values"])
def test_running_windows_are_cut_at_the_ends_whatever_their_width(kind: str) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 2, 3, 8, 41):
        values = rng.normal(size=n) if kind == "noise" else rng.integers(0, 3, n).astype(float)
        for width in range(1, n + 5, 2):
            half = min(width // 2, (n - 1) // 2)
            expected = np.array([np.median(values[max(0, i - half) : i + half + 1]) for i in range(n)])
            np.testing.assert_array_equal(running_median(values, width), expected)
            for level in (*values, 0.1):
                np.testing.assert_array_equal(median_above(values, width, level), expected > level)


def test_equal_windows_have_equal_means() -> None:
    """A score that lies still after its fall has its lowest level where it begins to lie still."""
    rng = np.random.default_rng(6)
    for width in (1, 3, 7, 16, 23):
        values = np.concatenate([rng.normal(size=50), np.full(60, 0.3)])
        means = means_from_here(values, width)
        np.testing.assert_allclose(means, np.convolve(values, np.ones(width) / width, "valid"), atol=1e-12)
        assert len(set(means[50:])) == 1


def test_only_the_asked_families_are_made() -> None:
    assert set(healthy_shapes(50, ("linear", "power")).families) == {"linear", "power"}
    with pytest.raises(ValueError, match="parabola"):
        healthy_shapes(50, ("parabola",))


def test_spikes_go_and_frequent_values_stay() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=200)
    values[[70, 150]] = [50, -80]
    calm = without_spikes(values)
    assert np.abs(calm).max() < 6
    rare = (rng.random(500) < 0.05).astype(float)
    np.testing.assert_array_equal(without_spikes(rare), rare)
    left_at_once = np.concatenate([[0.0], 10 + 0.1 * rng.normal(size=40)])
    assert without_spikes(left_at_once)[0] == 0


def test_smoothing_keeps_the_course_and_loses_the_noise() -> None:
    rng = np.random.default_rng(6)
    truth = np.linspace(0, 10, 400)
    steps, calm = smooth(np.where(rng.random(400) < 0.05, np.nan, truth + rng.normal(size=400)))
    assert len(steps) == len(calm) < 400
    assert np.std(calm - truth[steps.astype(int)]) < 0.4
