"""The test of every value for a sudden change: what it finds, how soon, and how often it is wrong."""

import math
from collections.abc import Iterable

import numpy as np
import pytest

from firstbreak.live.guard.change import ALPHA, REFERENCE, WINDOWS, ChangeTest, log_tail


def alarms(values: Iterable[float], *, both: bool = False) -> list[int]:
    test = ChangeTest(both=both)
    return [i for i, value in enumerate(values) if test.add(float(value)) is not None]


def falling(sigmas: float, at: int, seed: int, n: int = 50) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values: np.ndarray = 0.73 + 0.02 * (np.r_[np.zeros(at), np.full(n, -sigmas)] + rng.normal(size=at + n))
    return values


@pytest.mark.parametrize(("sigmas", "within"), [(8, 4), (12, 2), (32, 1)])
def test_a_deep_fall_is_found_within_a_few_values_wherever_it_comes(sigmas: float, within: int) -> None:
    for seed, at in enumerate((15, 40, 150, 1000, 5000)):
        (alarm,) = alarms(falling(sigmas, at, seed))
        assert at <= alarm < at + within


def test_noise_without_a_change_raises_fewer_alarms_than_promised() -> None:
    runs = [np.random.default_rng(seed).normal(size=1000) for seed in range(200)]
    wrong = sum(bool(alarms(run, both=both)) for run in runs for both in (False, True))
    assert wrong <= 2 * len(runs) * ALPHA


def test_a_rise_is_no_fall_and_is_a_change_of_length() -> None:
    up = -falling(12, 100, 0)
    assert alarms(up) == []
    assert alarms(up, both=True) == [100]
    assert alarms(-up, both=True) == [100]


def test_a_run_that_learns_or_slowly_forgets_raises_none() -> None:
    rng = np.random.default_rng(0)
    ramp = np.linspace(0, 1, 400)
    assert alarms(ramp + rng.normal(0, 0.01, 400), both=True) == []
    assert alarms(1 - ramp + rng.normal(0, 0.01, 400)) == []


def test_one_fall_is_one_alarm_and_the_next_fall_another() -> None:
    rng = np.random.default_rng(0)
    values = np.r_[np.full(100, 0.9), np.full(100, 0.5), np.full(100, 0.1)] + rng.normal(0, 0.02, 300)
    assert alarms(values) == [100, 200]


def test_a_curve_that_stands_still_falls_only_by_more_than_its_resolution() -> None:
    assert alarms([1.0] * 50 + [0.95] * 50) == []
    assert alarms([1.0] * 50 + [0.5] * 5) == [50]
    assert alarms([0.0] * 100) == []


def test_values_without_a_number_are_left_out() -> None:
    values = falling(12, 100, 0)
    with_gaps = [x for value in values for x in (value, math.nan)]
    assert alarms(with_gaps) == [200]


def test_the_sums_do_not_lose_their_digits_far_from_zero() -> None:
    walk = np.cumsum(np.random.default_rng(0).normal(0.3, 1, 20 * REFERENCE)) * 1e6
    walk[-1] -= 1e9
    test = ChangeTest()
    *_, found = [test.add(value) for value in walk.tolist()]
    assert found is not None
    window = walk[-REFERENCE - WINDOWS[0] : -found.last]
    assert found.noise == pytest.approx(max(window.std(ddof=1), 0.02 * abs(window.mean())), rel=1e-6)


@pytest.mark.parametrize("freedom", [7, 10, 31])
@pytest.mark.parametrize("t", [2.0, 6.0, 12.0])
def test_the_bound_of_the_tail_is_one_and_is_near(t: float, freedom: int) -> None:
    from scipy.stats import t as student

    exact = student.logsf(t, freedom)
    assert exact <= log_tail(t, freedom) <= exact + 0.6
