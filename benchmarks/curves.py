"""Simulated training curves: healthy shapes, realistic noise, planted changes. The ground truth of the statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

Rng = np.random.Generator
SEEN = ("flat", "linear", "cosine", "saturating", "logistic", "power", "entropy")  #: shapes that `baseline` knows
UNSEEN = ("two-stage", "slow-wave", "square-root")  #: healthy too, and not in the family


def ar1_noise(rng: Rng, n: int, rho: float, df: float = 4.0) -> np.ndarray:
    """Stationary AR(1) noise of variance 1 with Student-t innovations of `df` > 2 degrees of freedom, (n,)."""
    innovations = rng.standard_t(df, n) * np.sqrt((df - 2) / df)
    noise = np.empty(n)
    noise[0] = innovations[0]
    for t in range(1, n):
        noise[t] = rho * noise[t - 1] + np.sqrt(1 - rho**2) * innovations[t]
    return noise


def healthy(rng: Rng, n: int, shape: str, amplitude: float) -> np.ndarray:
    """A healthy curve without noise that moves by about `amplitude`, up or down, (n,)."""
    x = np.linspace(0, 1, n)
    start = rng.uniform(0.2, 0.8)
    tau = np.exp(rng.uniform(np.log(0.04), np.log(0.5)))
    draw: Mapping[str, Callable[[], np.ndarray]] = {
        "flat": lambda: np.zeros(n),
        "linear": lambda: x,
        "cosine": lambda: (1 - np.cos(np.pi * x)) / 2,
        "saturating": lambda: 1 - np.exp(-x / tau),
        "logistic": lambda: 1 / (1 + np.exp((start - x) / rng.uniform(0.06, 0.15))),
        "power": lambda: np.log1p(x / (tau / 10)) / np.log1p(10 / tau),
        "entropy": lambda: -np.log(np.exp(rng.uniform(-7, -2)) + np.exp(-x / tau)) / 4,
        "two-stage": lambda: 0.5 * (1 - np.exp(-x / 0.1)) + 0.5 / (1 + np.exp((start - x) / 0.08)),
        "slow-wave": lambda: 0.3 * np.sin(2 * np.pi * (x * rng.uniform(0.5, 1.5) + start)),
        "square-root": lambda: np.sqrt(x),
    }
    return float(rng.choice([-1, 1])) * amplitude * draw[shape]()


def plant(rng: Rng, y: np.ndarray, kind: str, at: int, size: float) -> np.ndarray:
    """`y`, noise sd 1, with a change from index `at` on: a level shift by `size` sd, a ramp that reaches `size` sd at the
    end, or a variance grown by the factor `size` squared about the curve's own shape (add the shape afterwards)."""
    after = np.arange(1, len(y) + 1) - at
    sign = float(rng.choice([-1, 1]))
    if kind == "level":
        return y + sign * size * (after > 0)
    if kind == "ramp":
        return y + sign * size * np.maximum(after, 0) / (len(y) - at)
    return np.asarray(np.where(after > 0, size * y, y))
