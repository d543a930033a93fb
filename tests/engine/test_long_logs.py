"""A log of many rows costs time and memory in proportion to them, healthy or not: counted, and not timed."""

import cProfile
import pstats
import tracemalloc

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Run, Status
from tests.make import run

FEW, MANY = 2_000, 16_000
BYTES_A_NUMBER = 60


def log(n: int, kind: str) -> Run:
    """Seventeen curves that rise, and break in one of several ways after 60 % of the rows."""
    draw, t = np.random.default_rng(0), np.linspace(0, 1, n)
    late = np.clip((t - 0.6) / 0.4, 0, 1) * (kind != "healthy")
    score = np.sin(60 * t) if kind == "swings" else np.clip(1.5 * t, 0, 1) * (1 - late)
    curves = {
        "reward.mean": score + draw.normal(0, 0.1, n),
        "eval.reward": score + draw.normal(0, 0.1, n),
        "kl.ref": 0.01 + 0.2 * late + draw.exponential(0.005, n),
        "kl.old": 0.01 + 0.3 * late + draw.exponential(0.005, n),
        "policy.entropy": 2 - t - 0.9 * late * (1 - t) + draw.normal(0, 0.02, n),
        "policy.loss": draw.normal(0, 0.01, n),
        "policy.clip_fraction": np.clip(0.1 + 0.5 * late + draw.normal(0, 0.02, n), 0, 1),
        "value.loss": 0.5 + 3 * late + draw.exponential(0.2, n),
        "value.explained_variance": np.clip(t - 2 * late, -1, 1) + draw.normal(0, 0.03, n),
        "grad.norm": 1 + 20 * late + draw.exponential(0.3, n),
        "optim.lr": 3e-4 * (1 - t),
        "length.mean": 200 + 400 * late + draw.normal(0, 10, n),
        "reward.group_std": 0.3 * (1 - late) + draw.exponential(0.01, n),
        "reward.zero_std_frac": np.clip(late + draw.normal(0, 0.05, n), 0, 1),
        "time.step": 1 + late + draw.exponential(0.1, n),
        "episode.length": 100 + draw.normal(0, 3, n),
    }
    if kind == "spikes":
        curves["kl.ref"][::97], curves["grad.norm"][::131] = 5, 400
    if kind == "not finite":
        for name in ("reward.mean", "grad.norm", "kl.ref"):
            curves[name][int(0.7 * n) :] = np.nan
    return run(curves)


def calls(of: Run) -> dict[tuple[str, int, str], int]:
    """How often each function is called."""
    profile = cProfile.Profile()
    profile.runcall(diagnose, of)
    return {where: count[0] for where, count in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["healthy", "breaking", "spikes", "swings", "not finite"])
def test_nothing_is_asked_of_each_row_by_itself(kind: str) -> None:
    few, many = calls(log(FEW, kind)), calls(log(MANY, kind))
    asked = {where: n - few.get(where, 0) for where, n in many.items()}
    of_each = {where: n for where, n in asked.items() if n > (MANY - FEW) / 4 and "numpy" in where[0] + where[2]} | {
        where: n for where, n in asked.items() if n > (MANY - FEW) / 4 and "knowledge" in where[0]
    }
    assert not of_each


@pytest.mark.parametrize("kind", ["healthy", "breaking", "swings"])
def test_memory_is_in_proportion_to_the_log(kind: str) -> None:
    of = log(MANY, kind)
    numbers = sum(len(series) for series in of.series.values())
    tracemalloc.start()
    found = diagnose(of)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert not [o.detector for o in found.outcomes if o.status is Status.CRASHED]
    assert peak < BYTES_A_NUMBER * numbers + 100e6
