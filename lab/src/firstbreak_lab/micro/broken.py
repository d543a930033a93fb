"""The fault that acts in one run of the micro-lab, asked for at the place of an algorithm where it acts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class BrokenMechanism:
    """`broken("reward-sign-flipped")` is the severity of this fault while it acts, otherwise 0 (or `otherwise`).

    A fault has random numbers of its own, so that a run with severity 0 is the same as its healthy twin, bit by bit.
    """

    fault: str | None = None
    severity: float = 0.0
    onset: float = 0.0  #: share of the run
    seed: int = 0
    progress: float = 0.0  #: share of the run that is done; the algorithm sets it
    rng: np.random.Generator = field(init=False)
    _held: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng([self.seed, 4])

    def __call__(self, fault: str, otherwise: float = 0.0) -> float:
        acts = fault == self.fault and self.severity and self.progress >= self.onset
        return self.severity if acts else otherwise

    def frozen(self, fault: str, now: np.ndarray) -> np.ndarray:
        """What `now` was when it was last asked for before the fault began to act; without the fault, `now`."""
        if fault != self.fault:
            return now
        if self._held is None or not self(fault):
            self._held = now
        return self._held

    def hits(self, fault: str, shape: int | tuple[int, ...]) -> np.ndarray | None:
        """Which elements the fault hits, if its severity is a share; None while it does not act."""
        share = self(fault)
        return self.rng.random(shape) < share if share else None


@dataclass(frozen=True)
class Trained:
    """What is true of a finished run, computed from the policies themselves. No fault can change it."""

    start: float  #: performance of the policy before the training
    score: float  #: performance of the final policy
    best: float  #: performance of the best policy of this task
    reported: float  #: the last evaluation that was logged; NaN without one
    claimed: float  #: what this evaluation should have said
    seconds: float  #: by the clock of the log
    steps: int  #: the last step of the log
