"""The harm test: a fault counts as a fault only if it does harm that can be measured over several seeds.

Each faulty run is compared with its twin: the unchanged base with the same seed. The test compares one *outcome*, a
number that no fault can improve by itself:

    score      true score of the final policy                            the default
    honesty    distance between the last reported and the true score     faults of the evaluation
    time       seconds of the run, logarithm of the ratio                faults of the systems
    memory     largest memory of the run, in gigabytes                   faults with OUTCOME = "memory"

A setting (a fault in a base with a severity) is admitted if the outcome is worse than the twins' over at least five
seeds, by an exact one-sided sign-flip test at 5 %. The test assumes only this: if the fault does no harm, each difference
is equally likely to have the other sign (Fisher, "The Design of Experiments", 1935). With five seeds, all five must be
worse. A setting that is not admitted is harmless: a diagnosis may mention it and must not stop the run.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from firstbreak.model import Interval, Link
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.running import Label

LEVEL = 0.05
SEEDS = 5  #: with four seeds, even four equal signs have a probability of 1/16, which is above LEVEL
TWIN = "untouched"
EXACT = 12  #: up to this number of seeds, all sign assignments are tried; above it, a random sample of SAMPLED
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
#: link -> the outcome that is compared for its faults, unless a fault names another one; "score" for the other links
OUTCOME_OF_LINK: Mapping[str, str] = MappingProxyType({Link.EVALUATION.value: "honesty", Link.SYSTEMS.value: "time"})

Setting = tuple[str, str, float]  #: variant, base, severity


@dataclass(frozen=True, kw_only=True)
class Admission:
    """The result of the harm test for one setting."""

    variant: str
    base: str
    severity: float
    seeds: int  #: pairs of a faulty run and its twin
    outcome: str
    harm: float = math.nan  #: mean difference to the twins, in the outcome's unit; positive: worse
    interval: Interval = (math.nan, math.nan)  #: of the harm, 95 %, bootstrap over seeds
    effect: float = math.nan  #: harm over the standard deviation of the differences (paired Cohen's d)
    p: float = math.nan  #: of the sign-flip test
    admitted: bool = False
    reason: str = ""  #: why it is not admitted

    @property
    def setting(self) -> Setting:
        """The setting that was tested."""
        return (self.variant, self.base, self.severity)

    @property
    def judged(self) -> bool:
        """Whether there were enough seeds for the test."""
        return self.seeds >= SEEDS


def admissions(labels: Iterable[Label]) -> list[Admission]:
    """The result of the harm test for every faulty setting of a corpus, in the order of their names."""
    return [judge(setting, outcome, harms) for setting, (outcome, harms) in sorted(_harms(labels).items())]


def _harms(labels: Iterable[Label]) -> dict[Setting, tuple[str, np.ndarray]]:
    """Setting -> its outcome, and for each run how much worse than its twin the run is."""
    labels = list(labels)
    twins = {(label.base, label.seed): label for label in labels if label.variant == TWIN}
    harms: dict[Setting, tuple[str, list[float]]] = {}
    for label in labels:
        if label.link is not None:
            outcome = catalogue()[label.variant].outcome or OUTCOME_OF_LINK.get(label.link, "score")
            _, collected = harms.setdefault((label.variant, label.base, label.severity), (outcome, []))
            if twin := twins.get((label.base, label.seed)):
                collected.append(OUTCOMES[outcome](label, twin))
    return {setting: (outcome, np.array(collected)) for setting, (outcome, collected) in harms.items()}


def judge(setting: Setting, outcome: str, harms: np.ndarray) -> Admission:
    """Admit or reject one setting. `harms` says for each run how much worse than its twin the run is, shape (seeds,)."""
    variant, base, severity = setting
    n = len(harms)
    if n < SEEDS:
        reason = f"not judged: {n} seed{'s' * (n != 1)} with a twin; train at least {SEEDS}"
        return Admission(variant=variant, base=base, severity=severity, seeds=n, outcome=outcome, reason=reason)
    p = sign_flip(harms)
    admitted = p <= LEVEL
    return Admission(
        variant=variant,
        base=base,
        severity=severity,
        seeds=n,
        outcome=outcome,
        harm=float(harms.mean()),
        interval=bootstrap(harms),
        effect=_effect(harms),
        p=p,
        admitted=admitted,
        reason="" if admitted else f"harmless: {outcome} is not worse than the twins' (p = {p:.2g})",
    )


def _effect(harms: np.ndarray) -> float:
    mean, spread = float(harms.mean()), float(harms.std(ddof=1))
    return mean / spread if spread else math.copysign(math.inf, mean) if mean else 0.0


def sign_flip(harms: np.ndarray) -> float:
    """Probability of a mean at least as large as the observed one, if every sign is equally likely.

    `harms` has shape (n,) with finite entries. The test is exact up to n = EXACT.
    """
    n = len(harms)
    if n <= EXACT:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
    else:
        signs = np.random.default_rng(0).choice((1.0, -1.0), size=(SAMPLED, n))
        signs[0] = 1.0  # the observed signs are one of the possible assignments
    sums = signs @ harms
    return float((sums >= harms.sum() - 1e-12 * np.abs(harms).sum()).mean())


def bootstrap(values: np.ndarray, level: float = 0.95, draws: int = 4000) -> Interval:
    """Percentile interval of the mean of `values`, shape (n,)."""
    rows = np.random.default_rng(0).integers(0, len(values), size=(draws, len(values)))
    low, high = np.quantile(values[rows].mean(1), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def control(labels: Iterable[Label], draws: int = 100) -> float:
    """Share of judged settings that are admitted if the two runs of each pair are swapped at random.

    Expected: at most about LEVEL. A larger share means that the harm test admits harmless faults. An exact test on five
    seeds can only reach 1/32. NaN if no setting could be judged.
    """
    rng = np.random.default_rng(0)
    judged = [harms for _, harms in _harms(labels).values() if len(harms) >= SEEDS]
    chances = [sign_flip(harms * rng.choice((1.0, -1.0), len(harms))) for harms in judged for _ in range(draws)]
    return float(np.mean([p <= LEVEL for p in chances])) if chances else math.nan
