"""A trend is called where there is one, and the noise is called noise."""

import numpy as np
import pytest
from benchmarks.curves import ar1_noise

from firstbreak.engine.stats.direction import fall_from_best
from firstbreak.engine.stats.normal import t_to_z, two_sided, z_to_t
from firstbreak.engine.stats.trend import theil_sen, trend
from firstbreak.model import Series


@pytest.mark.parametrize("df", [3, 5, 12, 80])
def test_student_tails_agree_with_scipy(df: int) -> None:
    from scipy import stats

    for t in (0.3, 1.0, 2.2, 4.0):
        assert two_sided(t_to_z(t, df)) == pytest.approx(2 * stats.t.sf(t, df), rel=0.06)
        assert z_to_t(t_to_z(t, df), df) == pytest.approx(t)
        assert t_to_z(-t, df) == -t_to_z(t, df)


def test_theil_sen_agrees_with_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(0, 9, 41)), rng.normal(size=41)
    slope, _ = theil_sen(x, y)
    assert slope == pytest.approx(stats.theilslopes(y, x).slope)


def test_a_clear_line_is_measured() -> None:
    rng = np.random.default_rng(1)
    line = trend(3 + 0.02 * np.arange(400) + 0.5 * rng.normal(size=400))
    assert line.rising
    assert not line.flat
    assert line.interval[0] < 0.02 < line.interval[1]
    assert line.change == pytest.approx(8, rel=0.05)
    assert line.start == pytest.approx(3, abs=0.3)
    assert line.noise == pytest.approx(0.5, rel=0.2)
    assert line.signal_to_noise == pytest.approx(16, rel=0.25)
    assert line.p < 1e-6


def test_steps_count_not_rows() -> None:
    from firstbreak.model import Series

    steps = np.concatenate([np.arange(50.0), np.arange(50.0, 1000.0, 50.0)])
    values = 0.01 * steps + 0.05 * np.random.default_rng(2).normal(size=len(steps))
    assert trend(Series(name="x", steps=steps, values=values)).slope == pytest.approx(0.01, rel=0.02)


def test_wild_points_do_not_bend_the_line() -> None:
    rng = np.random.default_rng(3)
    values = 0.05 * np.arange(100) + rng.normal(size=100)
    spoiled = values.copy()
    spoiled[[3, 90, 96]] = [400, -900, -700]
    assert trend(spoiled).rising
    assert trend(spoiled).slope == pytest.approx(trend(values).slope, rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rho"), [(8, 0.0), (30, 0.0), (30, 0.6), (100, 0.8), (1000, 0.9)])
def test_noise_alone_is_rarely_a_trend(n: int, rho: float) -> None:
    rng = np.random.default_rng(n)
    called = np.mean([not trend(ar1_noise(rng, n, rho)).flat for _ in range(300)])
    assert called <= 0.09


def test_a_random_walk_is_not_a_trend() -> None:
    rng = np.random.default_rng(4)
    called = np.mean([not trend(np.cumsum(rng.normal(size=300))).flat for _ in range(200)])
    assert called <= 0.12


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rho"), [(12, 0.0), (40, 0.5), (200, 0.8)])
def test_the_interval_covers_the_slope(n: int, rho: float) -> None:
    rng = np.random.default_rng(n + 1)
    intervals = [trend(np.linspace(0, 3, n) + ar1_noise(rng, n, rho)).interval for _ in range(300)]
    assert np.mean([low <= 3 / (n - 1) <= high for low, high in intervals]) >= 0.91


def test_a_small_trend_is_seen_once_there_are_points_enough() -> None:
    rng = np.random.default_rng(6)
    few = np.mean([trend(np.linspace(0, 1, 20) + rng.normal(size=20)).rising for _ in range(100)])
    many = np.mean([trend(np.linspace(0, 1, 2000) + rng.normal(size=2000)).rising for _ in range(30)])
    assert few < 0.5
    assert many > 0.95


def test_a_fall_of_few_points_begins_where_the_score_stays_nearer_to_its_end() -> None:
    """Not at its best, which came long before: it stood still from there on."""
    values = [0.90, 0.98, 0.97, 0.97, 0.98, 0.97, 0.98, 0.95, 0.85, 0.80]
    scores = Series(name="eval.accuracy", steps=np.arange(10, 110, 10.0), values=np.array(values))
    step, interval = fall_from_best(scores, 20.0)
    assert step == 90
    assert interval == (20, 90)
