"""Admission: a fault counts only where it does harm that can be measured over several seeds.

Each faulty run is compared with its twin: the untouched base with the same seed. What is compared is the *outcome* that
the fault can spoil, a number that no fault can dress up:

    score      true score of the final policy                            unless something else is said
    honesty    distance between the last reported and the true score     faults of the evaluation
    time       seconds of the run, logarithm of the ratio                faults of the systems
    memory     most gigabytes that the run has held                      where a fault says so

A setting (a fault in a base with a severity) is admitted if over at least five seeds the outcome is worse than the
twins' by an exact one-sided sign-flip test at 5 %: without harm, each difference is as likely to have the other sign,
and nothing else is assumed (Fisher, "The Design of Experiments", 1935). With five seeds, all five must be worse. What is
not admitted has departed without harm: a diagnosis may mention it and must not stop it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from firstbreak.lab.plants import catalogue
from firstbreak.lab.running import Label
from firstbreak.model import Interval, Link

LEVEL = 0.05
SEEDS = 5  #: fewer cannot be judged: with four, even unanimous signs have a probability of 1/16
TWIN = "untouched"
EXACT = 12  #: up to so many seeds all sign assignments are tried, beyond it a random sample of them
SAMPLED = 4096

Measure = Callable[[Label, Label], float]  #: (faulty run, its twin) -> harm, positive where the fault is worse

OUTCOMES: Mapping[str, Measure] = MappingProxyType(
    {
        "score": lambda run, twin: twin.score - run.score,
        "honesty": lambda run, twin: abs(run.reported - run.score) - abs(twin.reported - twin.score),
        "time": lambda run, twin: math.log(run.seconds / twin.seconds),
        "memory": lambda run, twin: run.peak_gb - twin.peak_gb,
    }
)
#: link -> the outcome that its faults spoil, unless a fault names another; "score" for the other links
SPOILS: Mapping[str, str] = MappingProxyType({Link.EVALUATION.value: "honesty", Link.SYSTEMS.value: "time"})

Setting = tuple[str, str, float]  #: plant, base, severity


@dataclass(frozen=True, kw_only=True)
class Admission:
    """What the gate says of one setting."""

    plant: str
    base: str
    severity: float
    seeds: int  #: pairs of a faulty run and its twin
    outcome: str
    harm: float = math.nan  #: mean difference to the twins, in the outcome's unit; positive: worse
    interval: Interval = (math.nan, math.nan)  #: of the harm, 95 %, bootstrap over seeds
    effect: float = math.nan  #: harm over the standard deviation of the differences (paired Cohen's d)
    p: float = math.nan  #: of the sign-flip test
    admitted: bool = False
    reason: str = ""  #: why not

    @property
    def setting(self) -> Setting:
        """What was judged."""
        return (self.plant, self.base, self.severity)

    @property
    def judged(self) -> bool:
        """Whether there were enough seeds."""
        return self.seeds >= SEEDS


def admissions(labels: Iterable[Label]) -> list[Admission]:
    """The verdict on every faulty setting among the runs of a corpus, in the order of their names."""
    return [judge(setting, outcome, harms) for setting, (outcome, harms) in sorted(_harms(labels).items())]


def _harms(labels: Iterable[Label]) -> dict[Setting, tuple[str, np.ndarray]]:
    """Setting -> its outcome, and how much worse than its twin each of its runs is."""
    labels = list(labels)
    twins = {(label.base, label.seed): label for label in labels if label.plant == TWIN}
    harms: dict[Setting, tuple[str, list[float]]] = {}
    for label in labels:
        if label.link is not None:
            outcome = catalogue()[label.plant].spoils or SPOILS.get(label.link, "score")
            _, collected = harms.setdefault((label.plant, label.base, label.severity), (outcome, []))
            if twin := twins.get((label.base, label.seed)):
                collected.append(OUTCOMES[outcome](label, twin))
    return {setting: (outcome, np.array(collected)) for setting, (outcome, collected) in harms.items()}


def judge(setting: Setting, outcome: str, harms: np.ndarray) -> Admission:
    """Admit or reject one setting, given how much worse than its twin each of its runs is, shape (seeds,)."""
    plant, base, severity = setting
    n = len(harms)
    if n < SEEDS:
        reason = f"not judged: {n} seed{'s' * (n != 1)} with a twin, {SEEDS} are needed"
        return Admission(plant=plant, base=base, severity=severity, seeds=n, outcome=outcome, reason=reason)
    p = sign_flip(harms)
    admitted = p <= LEVEL
    return Admission(
        plant=plant,
        base=base,
        severity=severity,
        seeds=n,
        outcome=outcome,
        harm=float(harms.mean()),
        interval=bootstrap(harms),
        effect=_effect(harms),
        p=p,
        admitted=admitted,
        reason="" if admitted else f"departed, not harmful: {outcome} is not worse than the twins' (p = {p:.2g})",
    )


def _effect(harms: np.ndarray) -> float:
    mean, spread = float(harms.mean()), float(harms.std(ddof=1))
    return mean / spread if spread else math.copysign(math.inf, mean) if mean else 0.0


def sign_flip(harms: np.ndarray) -> float:
    """Probability of a mean as large as the observed one if each difference might as well have the other sign.

    `harms` has shape (n,) with finite entries; the test is exact up to n = EXACT.
    """
    n = len(harms)
    if n <= EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
    else:
        signs = np.random.default_rng(0).choice((1.0, -1.0), size=(SAMPLED, n))
        signs[0] = 1.0  # the observed assignment is one of those that could have been
    sums = signs @ harms
    return float((sums >= harms.sum() - 1e-12 * np.abs(harms).sum()).mean())


def bootstrap(values: np.ndarray, level: float = 0.95, draws: int = 4000) -> Interval:
    """Percentile interval of the mean of `values`, shape (n,)."""
    picks = np.random.default_rng(0).integers(0, len(values), size=(draws, len(values)))
    low, high = np.quantile(values[picks].mean(1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def control(labels: Iterable[Label], draws: int = 100) -> float:
    """Share of judged settings that are admitted when chance decides which run of each pair carries the fault.

    At most about LEVEL, or the gate admits what is not there (an exact test on five seeds can only reach 1/32); nan
    where nothing could be judged.
    """
    rng = np.random.default_rng(0)
    judged = [harms for _, harms in _harms(labels).values() if len(harms) >= SEEDS]
    chances = [sign_flip(harms * rng.choice((1.0, -1.0), len(harms))) for harms in judged for _ in range(draws)]
    return float(np.mean([p <= LEVEL for p in chances])) if chances else math.nan
