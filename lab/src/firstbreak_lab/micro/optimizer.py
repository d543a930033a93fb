"""Adam with a clipped gradient, as every algorithm of the micro-lab uses it, and the faults of steps and of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstbreak_lab.drawn import BrokenMechanism

HALF = 65504.0  #: the largest number in half precision


@dataclass
class Adam:
    """Steps on one array of weights. Each weight stands for `width` equal ones, which all move by the learning rate.

    So a learning rate of 1e-5 moves a logit of a wide policy as far as it would in a large network.
    """

    weights: np.ndarray
    lr: float
    schedule: str  #: "constant" or "linear"
    width: float
    clip: float
    broken: BrokenMechanism
    warmup: float = 0.0  #: share of the run

    def __post_init__(self) -> None:
        self.moments = np.zeros((2, *self.weights.shape))
        self.steps = 0

    def rate(self) -> float:
        """The learning rate now."""
        progress = self.broken.progress
        shape = 1.0 - progress if self.schedule == "linear" else 1.0
        rising = min(1.0, (progress + 1e-3) / self.warmup) if self.warmup else 1.0
        return self.lr * shape * rising * self.broken("learning-rate-too-high", 1.0) * self._tiny()

    def _tiny(self) -> float:
        return self.broken("updates-do-nothing", 1.0)

    def step(self, gradient: np.ndarray) -> float:
        """Move against the gradient. Returns its norm before it is clipped."""
        if scale := self.broken("gradients-not-finite"):  # the scaled loss is too large for half precision
            scaled = gradient * scale
            gradient = np.where(np.abs(scaled) > HALF, np.copysign(np.inf, scaled), scaled) / scale
        norm = float(np.sqrt(self.width * np.square(gradient).sum()))
        if not np.isfinite(norm):  # the step is left out, as with a gradient scaler
            return norm if np.isfinite(gradient).all() else float("nan")
        gradient = gradient * min(1.0, self.clip / (norm + 1e-6)) * np.sqrt(self.width)
        self.steps += 1
        first, second = self.moments
        first += 0.1 * (gradient - first)
        second += 0.001 * (gradient**2 - second)
        direction = first / (1 - 0.9**self.steps) / (np.sqrt(second / (1 - 0.999**self.steps)) + 1e-8)
        moved = self.weights - self.rate() * self.width * direction
        self.weights = rounded(moved, bits) if (bits := self.broken("updates-rounded-away")) else moved
        return norm


def rounded(numbers: np.ndarray, bits: float) -> np.ndarray:
    """The numbers with so many bits of mantissa; bfloat16 has 8."""
    mantissa, exponent = np.frexp(numbers)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**bits) / 2.0**bits, exponent))
