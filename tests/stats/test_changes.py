"""Changes are found wherever they lie, with what came of them; healthy curves have none."""

import math

import numpy as np
import pytest
from benchmarks.curves import SEEN, UNSEEN, ar1_noise, gone_after, healthy, variant

from firstbreak.engine.stats.changes import Change, apart, changes, departed, for_good, settled, weighted_median
from firstbreak.model import Series

pytestmark = pytest.mark.slow  # seconds: `make quick` leaves it to `make test`


def noise(n: int, seed: int = 0, rho: float = 0.3) -> np.ndarray:
    return ar1_noise(np.random.default_rng(seed), n, rho)


def over(steps: np.ndarray, values: np.ndarray) -> Series:
    return Series(name="x", steps=np.asarray(steps, float), values=np.asarray(values, float))


def the_one(found: tuple[Change, ...]) -> Change:
    (change,) = found
    return change


@pytest.mark.slow
def test_a_hundred_healthy_curves_have_at_most_three_changes() -> None:
    alarms = 0
    for i in range(100):
        rng = np.random.default_rng(i)
        n, shape = (12, 30, 100, 600, 3000)[i % 5], (*SEEN, *UNSEEN)[i % 10]
        y = healthy(rng, n, shape, 10.0) + ar1_noise(rng, n, (0, 0.3, 0.6, 0.9)[i % 4], (3.0, 4.0, 50.0)[i % 3])
        alarms += bool(changes(y))
    assert alarms <= 3


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.02, 0.7, *(pytest.param(p, marks=pytest.mark.thorough) for p in (0.3, 0.94))])
@pytest.mark.parametrize("kind", ["level", "burst", "recovery"])
def test_a_change_of_five_sd_is_found_at_any_place_of_a_curve_that_should_be_level(kind: str, place: float) -> None:
    hits = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        at = int(400 * place)
        found = changes(variant(rng, ar1_noise(rng, 400, 0.3), kind, at, 5.0), families=["constant"])
        near = [c for c in found if abs(c.step - at) <= 4]
        back = None if kind == "level" else at + gone_after(kind, 400, at)
        hits.append(
            any((c.returned is None) == (back is None) and abs((c.returned or 0) - (back or 0)) < 12 for c in near)
        )
    assert np.mean(hits) >= 0.75


def test_a_change_tells_its_levels_its_ratio_and_when_it_came_back() -> None:
    y = 2 + 0.1 * noise(300) + 6 * ((np.arange(300) >= 90) & (np.arange(300) < 140))
    up, down = changes(y)
    assert (up.step, up.returned, up.direction) == (90, pytest.approx(140, abs=4), 1)
    assert up.ratio == pytest.approx(4, rel=0.05)
    assert (down.step, down.returned, down.direction) == (140, None, -1)
    assert (up.lasting, down.takes_back, down.lasting) == (False, True, False)


def test_a_factor_is_found_on_a_logarithmic_scale_and_told_in_units_of_the_curve() -> None:
    y = np.exp(0.3 * noise(200)) * np.where(np.arange(200) < 120, 1, 8)
    change = the_one(changes(y, log=True, kinds=("level",)))
    assert change.ratio == pytest.approx(8, rel=0.25)
    assert change.after == pytest.approx(8, rel=0.25)


def test_slopes_and_spreads_change_too() -> None:
    at = np.arange(300)
    bent = the_one(changes(0.3 * noise(300) + 0.1 * np.maximum(0, at - 150)))
    assert bent.kind == "slope"
    assert bent.after == pytest.approx(0.1, rel=0.2)
    louder = the_one(changes(noise(400, seed=1) * np.where(np.arange(400) < 200, 1, 5)))
    assert louder.kind == "spread"
    assert louder.ratio == pytest.approx(5, rel=0.4)


def test_a_curve_that_turns_to_zero_or_to_nan_is_told_from_one_that_has_some() -> None:
    y = 3 + noise(100)
    zero = the_one(changes(np.where(np.arange(100) < 70, y, 0.0)))
    assert (zero.kind, zero.step, zero.after, zero.returned) == ("zero", 70, 0.0, None)
    gap = next(c for c in changes(np.where((np.arange(100) >= 40) & (np.arange(100) < 60), math.nan, y)))
    assert (gap.kind, gap.step, gap.returned) == ("missing", 40, 60)
    assert not changes(np.where(np.arange(100) % 4 == 0, 0.0, y), kinds=("zero",))
    assert not changes(np.where(np.arange(100) < 97, y, 0.0), kinds=("zero",))


def test_a_curve_that_is_logged_no_more_has_stopped() -> None:
    y = over(np.arange(60), 3 + noise(60))
    assert the_one(changes(y, until=200)).kind == "stopped"
    assert not changes(y, until=61)


def test_a_straight_line_that_is_logged_ten_times_more_often_at_first_has_no_bend() -> None:
    steps = np.concatenate([np.arange(0, 200), np.arange(200, 2200, 10)])
    assert not changes(over(steps, steps / 20 + noise(len(steps))))


def test_levels_count_steps_and_not_points() -> None:
    assert weighted_median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 1.0, 10.0])) == 9
    assert weighted_median(np.array([1.0, 3.0]), np.array([1.0, 1.0])) == 2


@pytest.mark.parametrize("values", [[], [1.0], [math.nan] * 20, [0.0] * 20, [1e300, -1e300] * 10, [7.0] * 50])
def test_any_curve_is_answered(values: list[float]) -> None:
    assert all(change.kind in ("zero", "missing") for change in changes(np.array(values), log=bool(len(values) % 2)))


def test_for_good_begins_where_the_hits_begin() -> None:
    hit = np.r_[np.zeros(30), np.ones(70)].astype(bool)
    assert for_good(hit, 0.8) == 30
    assert for_good(hit[::-1], 0.8) is None
    assert for_good(np.ones(5, bool), 0.8) == 0
    hit[[40, 60]] = False
    assert for_good(hit, 0.8) == 30


def test_a_curve_settles_where_it_was_for_most_of_the_last_steps() -> None:
    curve = over(np.arange(100), np.where(np.arange(100) < 50, 1.0, 7.0))
    assert (settled(curve), settled(curve, 50)) == (7, 1)


def test_a_slow_ramp_that_ends_is_told_from_correlated_noise() -> None:
    ramp = 6 * np.clip((np.linspace(0, 1, 60) - 0.3) / 0.4, 0, 1)
    found = [departed(noise(60, seed, 0.0) + ramp) for seed in range(30)]
    assert sum(change is not None and change.direction > 0 for change in found) >= 28
    assert sum(departed(noise(60, seed, 0.8)) is not None for seed in range(60)) <= 3


def test_two_levels_that_never_meet_are_apart_although_each_of_them_wanders() -> None:
    walk = 5000 + np.cumsum(np.random.default_rng(0).normal(0, 150, 40))
    cut = apart(np.where(np.arange(40) < 32, walk, walk / 5), log=True)
    assert cut is not None
    assert (cut.step, cut.direction, cut.lasting) == (32.0, -1, True)
    assert cut.ratio == pytest.approx(0.2, abs=0.05)


def test_one_level_is_not_cut() -> None:
    assert [s for s in range(20) if apart(np.random.default_rng(s).normal(0, 1, 60)) is not None] == []


def test_an_excursion_that_comes_back_cuts_nothing() -> None:
    values = np.random.default_rng(1).normal(1, 0.05, 60)
    values[20:35] = 0.2
    assert apart(values) is None
