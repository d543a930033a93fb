"""Simulated training curves: healthy shapes, realistic noise, injected changes. The ground truth of the statistics."""

from collections.abc import Callable, Mapping

import numpy as np

Rng = np.random.Generator
#: shapes that `firstbreak.engine.stats.smooth.healthy_shapes` knows, by the family they belong to
SEEN: Mapping[str, str] = {
    "flat": "constant",
    "linear": "linear",
    "cosine": "cosine",
    "saturating": "exponential",
    "logistic": "logistic",
    "power": "power",
    "entropy": "entropy",
}
UNSEEN = ("two-stage", "slow-wave", "square-root")  #: healthy too, and in no family


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


def variant(rng: Rng, noise: np.ndarray, kind: str, at: int, size: float) -> np.ndarray:
    """`noise` (n,), sd 1, with a change from index `at` on, up or down.

    "level": a shift by `size` sd; "ramp": one that reaches `size` sd at the end; "variance": the sd times `size`; "burst":
    a shift that is gone after a twentieth of the curve, 4 points at least; "recovery": one that is gone after half of what
    is left; "zero", "nan", "stops": the curve is exactly 0, is no number, or has no points, from there on.
    """
    n = len(noise)
    after = np.arange(1, n + 1) - at
    sign = float(rng.choice([-1, 1]))
    match kind:
        case "level":
            return noise + sign * size * (after > 0)
        case "ramp":
            return noise + sign * size * np.maximum(after, 0) / (n - at)
        case "variance":
            return np.asarray(np.where(after > 0, size * noise, noise))
        case "burst" | "recovery":
            return noise + sign * size * ((after > 0) & (after <= gone_after(kind, n, at)))
        case "zero" | "nan":
            return np.where(after > 0, 0.0 if kind == "zero" else np.nan, noise)
        case "stops":
            return noise[:at]
    raise ValueError(kind)


def gone_after(kind: str, n: int, at: int) -> int:
    """How many points a "burst" or a "recovery" at index `at` lasts."""
    return max(4, n // 20) if kind == "burst" else (n - at) // 2


#: what a score does -> how an experienced reader may call it
SCORES: Mapping[str, tuple[str, ...]] = {
    "never moves": ("flat",),
    "rises steadily": ("rising",),
    "rises late": ("rising",),
    "saturates": ("plateau",),
    "saturates at once": ("plateau",),
    "saturates, last point bad": ("plateau",),
    "dips and recovers": ("plateau", "rising"),
    "falls": ("declining",),
    "peaks and loses half": ("peaked",),
    "peaks and loses all": ("collapsed",),
    "swings": ("oscillating",),
}


def score(rng: Rng, n: int, story: str, amplitude: float, rho: float) -> np.ndarray:
    """A score curve (n,) with one of the stories of SCORES and noise of sd 1."""
    x = np.linspace(0, 1, n)
    top = rng.uniform(0.35, 0.6)
    climb = np.minimum(x / top, 1)
    course: Mapping[str, Callable[[], np.ndarray]] = {
        "never moves": lambda: 0 * x,
        "rises steadily": lambda: x,
        "rises late": lambda: np.maximum(0, (x - 0.6) / 0.4),
        "saturates": lambda: 1 - np.exp(-x / 0.08),
        "saturates at once": lambda: 1 - np.exp(-x / 0.025),
        "saturates, last point bad": lambda: np.where(np.arange(n) < n - 1, 1 - np.exp(-x / 0.08), -0.5),
        "dips and recovers": lambda: 1 - np.exp(-x / 0.08) - 0.8 * ((x > top) & (x < top + 0.1)),
        "falls": lambda: -x,
        "peaks and loses half": lambda: climb - 0.5 * np.maximum(0, (x - top) / (1 - top)),
        "peaks and loses all": lambda: climb - np.clip((x - top) / 0.2, 0, 1),
        "swings": lambda: 0.5 * np.sin(2 * np.pi * 3 * x),
    }
    return amplitude * course[story]() + ar1_noise(rng, n, rho)
