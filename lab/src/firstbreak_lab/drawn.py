"""What all drawn runs share: the fault, the mechanism that it breaks, what is true of the run, and the label made of both.

The population of real trainers (population/) draws a run from one seed, and trains it twice: with its fault, and without it.
The difference of the two true scores is the harm of the fault.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firstbreak.model import Link
from firstbreak_lab.running import Label

HEALTHY = 1 / 3  #: share of the runs without a fault
LEARNS = 0.1  #: share of the way to the best policy that a healthy run has to make, or it is drawn again
SOLVED = 0.9  #: where it begins so high, it need not rise
HARM = 0.05  #: share of the way from the first to the best policy. Where nothing but the learning rate is changed, by 0.1 %,
#: the scores of 0.6 % of 160 healthy draws differ by more; 97.5 % of them by less than a tenth of it


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One fault. Its severity is drawn between two bounds, evenly on a logarithmic scale."""

    name: str
    link: Link
    severity: tuple[float, float]
    unit: str  #: of the severity
    cause: str | None = None  #: an id of firstbreak.knowledge.causes
    accepted: Mapping[Link, str] = field(default_factory=dict)  #: other links that are right too -> the reason
    whole: bool = False  #: the severity is a whole number
    from_start: bool = False  #: a setting, which is wrong from the first step on

    def drawn(self, rng: np.random.Generator) -> tuple[float, float]:
        """A severity, and an onset as a share of the run."""
        severity = float(np.exp(rng.uniform(*np.log(self.severity))))
        onset = float(rng.uniform(0.0, 0.8))
        return (float(round(severity)) if self.whole else severity), 0.0 if self.from_start else onset


@dataclass
class BrokenMechanism:
    """`broken("reward-sign-flipped")` is the severity of this fault while it acts, otherwise 0 (or `otherwise`).

    A fault has random numbers of its own, so that a run with severity 0 is the same as its healthy twin, bit by bit.
    """

    fault: str | None = None
    severity: float = 0.0
    onset: float = 0.0  #: share of the run
    seed: int = 0
    progress: float = 0.0  #: share of the run that is done; the training loop sets it
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

    def hit(self, fault: str) -> bool:
        """Whether the fault hits now, if its severity is a share."""
        share = self(fault)
        return bool(share) and self.rng.random() < share


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


@dataclass(frozen=True, kw_only=True)
class DrawnLabel(Label):
    """What is true of a drawn run, beside what every label of the lab says."""

    accepted: tuple[str, ...]  #: links that count as right; empty for a healthy run
    harm: float  #: how much worse than the healthy twin; see `harm`
    harmful: bool  #: more than HARM
    twin: float  #: true score of the healthy twin


def points(rng: np.random.Generator) -> int:
    """Rows of a log: mostly 30 to 160, some to 300, few to 2,000."""
    low, high = ((1.5, 2.2), (2.2, 2.5), (2.5, 3.3))[int(rng.choice(3, p=(0.9, 0.08, 0.02)))]
    return round(float(10 ** rng.uniform(low, high)))


def learns(true: Trained) -> bool:
    """Whether a healthy run did what it was started for."""
    way = true.best - true.start
    return true.score - true.start >= LEARNS * way or true.score >= true.start + SOLVED * way


def harm(link: Link, run: Trained, twin: Trained) -> float:
    """How much worse than its twin the run is: its report where the evaluation is broken, its time for the systems."""
    way = max(twin.best - twin.start, 1e-9)
    if link is Link.SYSTEMS:
        return math.log(run.seconds / twin.seconds)
    if link is Link.EVALUATION:
        lies = [abs(true.reported - true.claimed) for true in (run, twin)]
        return (lies[0] - lies[1]) / way if math.isfinite(sum(lies)) else 0.0
    return (twin.score - run.score) / way


def truth(fault: Fault | None, severity: float, onset: float, run: Trained, twin: Trained) -> dict[str, Any]:
    """The fields of a DrawnLabel, but for `base` and `seed`."""
    worse = float(harm(fault.link, run, twin)) if fault else 0.0
    return {
        "variant": fault.name if fault else "healthy",
        "severity": severity,
        "link": fault.link.value if fault else None,
        "cause": fault.cause if fault else None,
        "onset": max(1, round(onset * run.steps)) if fault else None,
        "steps": run.steps,
        "score": round(run.score, 4),
        "reported": round(run.reported, 4),
        "seconds": round(run.seconds, 2),
        "cpu_seconds": round(run.seconds, 2),
        "peak_gb": 0.0,
        "accepted": tuple(link.value for link in (fault.link, *fault.accepted)) if fault else (),
        "harm": round(worse, 4),
        "harmful": worse > HARM,
        "twin": round(twin.score, 4),
    }
