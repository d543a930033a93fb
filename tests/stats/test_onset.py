"""Breaks are found, placed and told from healthy curves."""

import numpy as np
import pytest
from benchmarks.curves import SEEN, UNSEEN, ar1_noise, healthy, variant

from firstbreak.engine.stats.breaks import find_breaks
from firstbreak.engine.stats.onset import Onset, first_sustained, onset
from firstbreak.model import Series

pytestmark = pytest.mark.slow  # simulations


def planted(kind: str, size: float, seed: int, shape: str = "saturating", n: int = 300) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(seed)
    at = int(rng.integers(0.4 * n, 0.7 * n))
    noise = variant(rng, ar1_noise(rng, n, rng.uniform(0, 0.6)), kind, at, size)
    return noise + healthy(rng, n, shape, 10.0), at


def found(kind: str, size: float, runs: int, known: bool) -> tuple[float, float, float]:
    """Share found, share of those whose interval holds the change, share of those of the right kind."""
    hits = []
    for seed in range(runs):
        shape = list(SEEN)[seed % len(SEEN)]
        y, at = planted(kind, size, seed, shape)
        answer = onset(y, families=[SEEN[shape]] if known else None)
        if answer is not None:
            hits.append((answer.interval[0] <= at <= answer.interval[1], answer.kind == kind))
    covered, right = np.mean(hits, axis=0)
    return len(hits) / runs, float(covered), float(right)


@pytest.mark.parametrize("shape", [*SEEN, *UNSEEN])
def test_healthy_curves_are_left_alone(shape: str) -> None:
    rng = np.random.default_rng(len(shape))
    alarms = 0
    for i in range(40):
        n = (30, 100, 300)[i % 3]
        y = healthy(rng, n, shape, 10.0) + ar1_noise(rng, n, (0, 0.3, 0.6, 0.9)[i % 4], (3.0, 4.0, 50.0)[i % 3])
        alarms += onset(y) is not None
    assert alarms <= 6


@pytest.mark.parametrize(
    ("n", "rho", "df"),
    [
        (12, 0.0, 3.0),
        (40, 0.9, 4.0),
        *(pytest.param(*case, marks=pytest.mark.thorough) for case in ((120, 0.95, 4.0), (200, 0.0, 3.0))),
    ],
)
def test_correlated_and_heavy_tailed_noise_is_left_alone(n: int, rho: float, df: float) -> None:
    rng = np.random.default_rng(n)
    assert sum(onset(ar1_noise(rng, n, rho, df)) is not None for _ in range(50)) <= 5


@pytest.mark.parametrize(("kind", "size", "least"), [("level", 3.0, 0.9), ("ramp", 8.0, 0.7), ("variance", 3.0, 0.6)])
def test_a_change_is_found_beside_a_known_shape(kind: str, size: float, least: float) -> None:
    share, covered, right = found(kind, size, 42, known=True)
    assert share >= least
    assert covered >= 0.85
    assert right >= 0.85


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "size", "least"), [("level", 3.0, 0.8), ("ramp", 12.0, 0.35), ("variance", 3.0, 0.6)])
def test_a_change_is_found_beside_an_unknown_shape(kind: str, size: float, least: float) -> None:
    share, covered, right = found(kind, size, 42, known=False)
    assert share >= least
    assert covered >= 0.85
    assert right >= 0.85


def test_the_answer_describes_the_change() -> None:
    rng = np.random.default_rng(0)
    steps = 1000 + 10 * np.arange(200.0)
    values = 3 + 0.1 * rng.normal(size=200) - 0.8 * (steps >= 2200)
    answer = onset(Series(name="kl", steps=steps, values=values))
    assert isinstance(answer, Onset)
    assert answer.kind == "level"
    assert answer.direction == -1
    assert answer.step == 2200
    assert answer.interval[0] <= 2200 <= answer.interval[1]
    assert answer.before == pytest.approx(3, abs=0.1)
    assert answer.after == pytest.approx(2.2, abs=0.1)
    assert answer.size == pytest.approx(8, rel=0.3)
    assert answer.confidence > 0.999


def test_a_change_of_noise_is_described_by_its_sd() -> None:
    rng = np.random.default_rng(1)
    answer = onset(np.concatenate([rng.normal(size=150), 4 * rng.normal(size=150)]))
    assert answer is not None
    assert (answer.kind, answer.direction) == ("variance", 1)
    assert answer.step == pytest.approx(150, abs=12)
    assert answer.before == pytest.approx(1, rel=0.25)
    assert answer.after == pytest.approx(4, rel=0.25)
    assert answer.size == pytest.approx(2, abs=0.4)


def test_only_the_asked_direction_and_kind_are_reported() -> None:
    rng = np.random.default_rng(2)
    down = rng.normal(size=150) - 5.0 * (np.arange(150) >= 90)
    assert onset(down, direction=-1) is not None
    assert onset(down, direction=1, kinds=("level", "ramp")) is None
    assert onset(down, direction=1, kinds=("level",)) is None
    noisier = np.concatenate([rng.normal(size=150), 4 * rng.normal(size=150)])
    assert onset(noisier, kinds=("level", "ramp")) is None


def test_one_wild_point_is_no_change() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=200)
    values[120] = 60.0
    assert onset(values) is None


def test_noise_that_follows_the_level_is_healthy() -> None:
    rng = np.random.default_rng(4)
    level = 10 * (1 - np.exp(-np.arange(300) / 60))
    alarms = sum(onset(level + (0.2 + 0.1 * level) * rng.normal(size=300)) is not None for _ in range(40))
    assert alarms <= 5


def test_a_change_in_a_long_curve_is_placed_within_its_blocks() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(size=60_000) + 1.0 * (np.arange(60_000) >= 40_000)
    answer = onset(values)
    assert answer is not None
    assert answer.interval[0] <= 40_000 <= answer.interval[1]
    assert answer.interval[1] - answer.interval[0] < 2000


def test_knowing_the_shape_shows_smaller_changes() -> None:
    unknown = found("ramp", 7.0, 28, known=False)[0]
    known = found("ramp", 7.0, 28, known=True)[0]
    assert known > unknown + 0.15


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0, 0, 5, 0, 0, 0, 5, 5, 5, 5, 5], 6),
        ([5, 5, 5, 5, 5], 0),
        ([0, 0, 0, 0, 5], None),
        ([0, 5, 5], None),
        ([], None),
        ([5], 0),
    ],
)
def test_the_first_sustained_crossing(values: list[float], expected: int | None) -> None:
    assert first_sustained(np.array(values, float), lambda v: v > 1) == expected


def test_a_sustained_crossing_may_miss_a_fifth() -> None:
    values = np.array([0, 0, 5, 5, 0, 5, 5, 5, 0, 0], float)
    assert first_sustained(values, lambda v: v > 1) == 2
    assert first_sustained(values, lambda v: v > 1, fraction=1.0) is None
    assert first_sustained(values, lambda v: v > 1, count=3, fraction=1.0) == 5


@pytest.mark.parametrize("n", range(4, 9))
def test_few_points_are_never_a_crash(n: int) -> None:
    found = find_breaks(np.random.default_rng(n).normal(size=n), ("level", "ramp"))
    assert len(found) <= n
