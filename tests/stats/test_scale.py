"""What a long curve costs: work that grows in proportion to its points, and nothing that is done twice."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from firstbreak.engine.stats import breaks, changes, noise, smooth
from firstbreak.engine.stats.changes import changes as changes_of
from firstbreak.engine.stats.changes import departed
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.power import hidden
from firstbreak.engine.stats.shape import trajectory
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Run, Series


def climb(n: int) -> Series:
    """A curve that leaves its level at 60 % of its points, slowly, and stays."""
    rng = np.random.default_rng(n)
    rise = np.clip((np.arange(n) / n - 0.6) * 8, 0, 1)
    return Series(name="kl.ref", steps=np.arange(n, dtype=float), values=0.05 + rise + 0.02 * rng.normal(size=n))


@pytest.mark.parametrize("n", [4_000, 40_000])
def test_shapes_are_fitted_to_a_limited_number_of_points(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of all healthy shapes has 184 rows: with a column for each of 1,000,000 points it would fill the memory."""
    fitted: list[int] = []
    shapes = smooth.healthy_shapes.__wrapped__

    def counted(points: int, families: Any = None) -> Any:
        fitted.append(points)
        return shapes(points, families)

    monkeypatch.setattr(breaks, "healthy_shapes", counted)
    changes_of(climb(n), kinds=("level",))
    departed(np.random.default_rng(n).normal(size=n))  # neither clearly still there nor clearly gone
    assert fitted
    assert max(fitted) <= changes.COURSE_POINTS


@pytest.mark.parametrize("points", [10_000, 100_000])
def test_the_onset_of_a_long_curve_is_where_it_breaks(points: int) -> None:
    curve = climb(points)
    jump = Series(
        name="kl.ref", steps=curve.steps, values=np.where(curve.steps < 0.6 * points, 0.0, 1.0) + curve.values
    )
    found = [c for c in changes_of(jump, kinds=("level",)) if c.direction > 0]
    assert found
    assert abs(found[0].step / points - 0.6) < 0.005


def test_a_curve_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    spread = noise.spread

    def counted(values: np.ndarray) -> float:
        asked["spread"] += 1
        return spread(values)

    monkeypatch.setattr(noise, "spread", counted)
    curve = climb(200)
    first = trajectory(curve), trend(curve), hidden(curve)
    seen = asked["spread"]
    assert (trajectory(curve), trend(curve), hidden(curve)) == first
    assert 0 < seen == asked["spread"]
    assert trend(curve, level=0.99).level == 0.99


def test_an_array_that_was_changed_is_looked_at_again() -> None:
    values = np.linspace(0, 1, 50)
    assert trend(values).rising
    values *= -1
    assert trend(values).falling


def test_the_median_is_that_of_numpy() -> None:
    rng = np.random.default_rng(0)
    for n in range(1, 30):
        values = rng.normal(size=n)
        assert median(values) == np.median(values)
    assert np.isnan(median(np.array([1.0, np.nan, 2.0])))


def test_the_axis_of_a_run_is_looked_up_once_for_all_its_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """With one look for each series, 6,000 series took minutes."""
    asked: Counter[str] = Counter()
    axis = Run.axis.fget
    assert axis is not None

    def counted(run: Run) -> str:
        asked["axis"] += 1
        return axis(run)

    monkeypatch.setattr(Run, "axis", property(counted))
    steps = np.arange(20.0)
    run = Run(
        path="wide",
        series={f"reward.component.{i}.mean": Series(name="", steps=steps, values=steps) for i in range(50)},
    )
    assert (run.first_step, run.last_step) == (0.0, 19.0)
    assert asked["axis"] == 2
