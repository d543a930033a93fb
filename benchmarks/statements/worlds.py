"""Healthy runs with the noise of real ones, which a generator changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.curves import ar1_noise


@dataclass(frozen=True, kw_only=True)
class World:
    """One run to be made: how long, how often evaluated, how noisy, and from which seed."""

    rng: np.random.Generator
    n: int  #: steps that are logged
    eval_every: int  #: logged steps between two evaluations
    family: str  #: "text" (a language model) or "control"
    method: str  #: "grpo", "ppo", "dqn", "dpo", ...: what the trainer's file says of the algorithm
    noise: Mapping[str, float]  #: signal -> standard deviation of one step, drawn from the quantiles of real runs
    effect: float  #: in [0, 1]: where between the small and the large real effects the statement's change lies
    healthy: Mapping[str, np.ndarray]  #: signal -> its curve in a healthy run of this trainer, noise included, (n,)

    @property
    def x(self) -> np.ndarray:
        """Progress through the run, 0 to 1, (n,)."""
        return np.linspace(0.0, 1.0, self.n)

    def between(self, small: float, large: float) -> float:
        """A size of effect between a small and a large one, geometrically where both are positive."""
        if small > 0 and large > 0:
            return float(small * (large / small) ** self.effect)
        return float(small + (large - small) * self.effect)

    def noisy(self, signal: str, curve: np.ndarray, scale: float = 1.0) -> np.ndarray:
        """`curve` (n,) with this signal's noise: autocorrelated, heavy-tailed, its real standard deviation times `scale`."""
        return curve + scale * self.noise[signal] * ar1_noise(self.rng, self.n, 0.3)

    def evaluated(self, curve: np.ndarray) -> np.ndarray:
        """`curve` (n,) at the steps that are evaluated, NaN elsewhere."""
        out = np.full(self.n, np.nan)
        out[:: self.eval_every] = curve[:: self.eval_every]
        return out

    def onset(self, low: float = 0.3, high: float = 0.7) -> int:
        """A step at which something changes, drawn between two shares of the run."""
        return int(self.rng.uniform(low, high) * self.n)
