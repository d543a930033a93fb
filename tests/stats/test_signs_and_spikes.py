"""Direction, reversals and jumps of signed quantities; spikes against shifts."""

import math

import numpy as np
import pytest
from benchmarks.curves import ar1_noise

from firstbreak.engine.stats.oscillation import oscillation, sign_reversal
from firstbreak.engine.stats.spikes import period, spikes, tail
from firstbreak.model import Series


def test_swings_about_zero_have_no_direction() -> None:
    rng = np.random.default_rng(0)
    about_zero = oscillation(0.01 * rng.normal(size=200))
    assert about_zero is not None
    assert about_zero.directionless
    assert about_zero.positive == pytest.approx(0.5, abs=0.12)


def test_a_steady_sign_is_a_direction() -> None:
    rng = np.random.default_rng(1)
    steady = oscillation(-0.02 + 0.01 * rng.normal(size=200))
    assert steady is not None
    assert not steady.directionless
    assert steady.mean == pytest.approx(-0.02, abs=0.003)
    assert steady.p < 1e-6


def test_a_mean_lost_in_the_swings_is_no_direction_however_many_points() -> None:
    rng = np.random.default_rng(2)
    faint = oscillation(0.1 + rng.normal(size=20_000))
    assert faint is not None
    assert faint.p < 0.05
    assert faint.directionless


def test_a_loss_of_exactly_zero_does_not_swing() -> None:
    zero = oscillation(np.zeros(50))
    assert zero is not None
    assert not zero.directionless
    assert zero.sd == 0


def test_a_reversal_is_placed() -> None:
    rng = np.random.default_rng(3)
    steps = 10 * np.arange(100.0)
    values = np.where(steps < 600, 0.5, -0.4) + 0.3 * rng.normal(size=100)
    reversal = sign_reversal(Series(name="loss", steps=steps, values=values))
    assert reversal is not None
    assert reversal.step == pytest.approx(600, abs=30)
    assert reversal.before == pytest.approx(0.5, abs=0.1)
    assert reversal.after == pytest.approx(-0.4, abs=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_noise_does_not_reverse(rho: float) -> None:
    rng = np.random.default_rng(4)
    assert sum(sign_reversal(ar1_noise(rng, 120, rho)) is not None for _ in range(80)) <= 6


def test_a_visit_to_the_other_side_is_no_reversal() -> None:
    rng = np.random.default_rng(5)
    values = 1 + 0.2 * rng.normal(size=90)
    values[40:48] = -1
    assert sign_reversal(values) is None


def test_spikes_come_back_and_shifts_do_not() -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(size=200)
    values[[50, 120]] = [30, -25]
    values[150:] += 20
    seen = spikes(values)
    assert list(seen.steps) == [50, 120]
    assert list(seen.values) == [30, -25]
    assert seen.sizes[0] > 20
    assert seen.sizes[1] < -15
    assert seen.every is None


def test_regular_spikes_have_a_period() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=300)
    values[10::25] += 30
    assert spikes(values).every == 25
    constant = np.ones(100)
    constant[::10] = 5
    found = spikes(constant)
    assert found.every == 10
    assert np.isinf(found.sizes).all()


def test_gaussian_noise_has_no_spikes_and_a_busy_signal_neither() -> None:
    rng = np.random.default_rng(9)
    assert sum(len(spikes(rng.normal(size=300))) for _ in range(20)) <= 2
    assert len(spikes((rng.random(200) < 0.35).astype(float))) == 0


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([0, 10, 20, 30], 10),
        ([0, 10, 30, 40, 50], 10),
        ([0, 3, 20, 27, 61], None),
        ([0, 10, 20], None),
        ([], None),
        ([5, 5, 5, 5], None),
    ],
)
def test_the_period_of_events(steps: list[float], expected: float | None) -> None:
    assert period(np.array(steps, float)) == expected


def test_a_straight_line_has_no_spikes_at_its_ends() -> None:
    line = 0.01 + 0.0001 * np.arange(200)
    assert len(spikes(line)) == 0
    noisy = line + 0.001 * np.random.default_rng(0).normal(size=200)
    noisy[100] += 0.5
    assert list(spikes(noisy).steps) == [100]


def test_a_heavy_tail_is_measured_against_the_median() -> None:
    norms = np.concatenate([np.ones(96), [8.0, 8, 8, 40]])
    heavy = tail(norms)
    assert heavy is not None
    assert heavy.median == 1
    assert heavy.max_ratio == 40
    assert 1 <= heavy.p95_ratio <= 8
    assert tail(np.zeros(0)) is None
    silent = tail(np.zeros(5))
    assert silent is not None
    assert math.isinf(silent.max_ratio)
