"""The only code that reads the truth: gold scores, right answers, and what people have marked.

Everything it gives away is about many samples at once (a curve over the steps, a correlation), or about samples that are
already judged. What looks for shifts of behaviour never gets here; see `blind`.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np

from firstbreak.audit.blind import Oracle, PolicySample, split
from firstbreak.audit.marks import HACK, KEEP, key_of
from firstbreak.audit.metrics._answer import final_answer, plain
from firstbreak.audit.table import shortened
from firstbreak.model import Confidence, Finding, Interval, NotMeasured, Sample, Series, Severity
from firstbreak.reports.text import count
from firstbreak.stats.normal import quantile
from firstbreak.words import number

MOST_STEPS = 4096  #: steps whose means are kept; with more, neighbours are joined
ORDER = ("human marks", "gold score", "right answer")  #: kinds of truth, the most trusted first
WEAK = 0.5  #: correlation: a reward that surely goes less by the truth than this pays for something else
FEWEST = 24  #: pairs that say whether the reward still goes by the truth
MOST_PAIRS = 4096  #: (reward, truth) pairs that are kept for the correlation
HIGH, LOW = 0.9, 0.4  #: of the range: a reward above with a truth below is a mismatch
ANSWERED = (
    0.02  #: share of completions that must give the right answer, or answers are not written as they are recorded
)


@dataclass(frozen=True)
class Pair:
    """A sample's reward beside the truth about it."""

    step: float
    reward: float
    truth: float
    sample: PolicySample


@dataclass(frozen=True)
class Mismatch:
    """A sample that earned much and is bad."""

    sample: PolicySample
    reward: float
    truth: float


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How well the reward orders samples as the truth does."""

    correlation: float  #: Spearman's rho
    interval: Interval
    pairs: int
    source: str  #: what the truth is
    curve: tuple[tuple[float, float, float], ...]  #: (mean reward, mean truth, samples) in tenths of the reward
    mismatches: tuple[Mismatch, ...]


@dataclass
class Ledger:
    """The truth about the samples that have passed by, in bounded memory."""

    marks: Mapping[str, str] = field(default_factory=dict)  #: key of a sample -> keep, hack, unsure
    _gold: dict[float, tuple[float, float]] = field(default_factory=dict)  #: step -> (sum, number)
    _graded: dict[float, tuple[float, float]] = field(default_factory=dict)
    _pairs: dict[str, list[Pair]] = field(default_factory=lambda: defaultdict(list))
    _seen: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _rng: random.Random = field(default_factory=lambda: random.Random(0))

    def watch(self, samples: Iterable[Sample]) -> Iterator[PolicySample]:
        """The samples without their truth, which stays here."""
        for sample in samples:
            seen, oracle = split(sample)
            self._note(seen, oracle)
            yield seen

    def _note(self, seen: PolicySample, oracle: Oracle) -> None:
        step = seen.step if seen.step is not None and math.isfinite(seen.step) else 0.0
        if oracle.score is not None:
            self._gold = _added(self._gold, step, oracle.score)
            self._pair("gold score", step, seen, oracle.score)
        if oracle.reference is not None:
            right = float(same_answer(seen.completion, oracle.reference))
            self._graded = _added(self._graded, step, right)
            self._pair("right answer", step, seen, right)
        if self.marks and (mark := self.marks.get(key_of(seen))) in (KEEP, HACK):
            self._pair("human marks", step, seen, float(mark == KEEP))

    def _pair(self, source: str, step: float, seen: PolicySample, truth: float) -> None:
        if seen.reward is None:
            return
        self._seen[source] += 1
        pairs = self._pairs[source]
        if len(pairs) < MOST_PAIRS:
            pairs.append(Pair(step, seen.reward, truth, shortened(seen)))
        elif (at := self._rng.randrange(self._seen[source])) < MOST_PAIRS:
            pairs[at] = Pair(step, seen.reward, truth, shortened(seen))

    def curves(self) -> dict[str, Series]:
        """The truth over the steps, where it was recorded: the mean gold score, and the share of right answers."""
        found = {"gold score": self._gold}
        right, n = np.sum(list(self._graded.values()), axis=0) if self._graded else (0.0, 0.0)
        if n and right / n > ANSWERED:
            found["right answer"] = self._graded
        return {name: _series(name, sums) for name, sums in found.items() if sums}

    def honesty(self, since: float) -> float | None:
        """Correlation of the reward with the best truth there is, over samples from a step on; None where there are few.

        1 where all are right and earn the same: there is nothing that the reward could have got wrong.
        """
        for source in ORDER:
            late = [pair for pair in self._pairs.get(source, ()) if pair.step >= since]
            if len(late) < FEWEST or not _answered(source, self._pairs[source]):
                continue
            reward, truth = np.array([p.reward for p in late]), np.array([p.truth for p in late])
            if truth.std() == 0 or reward.std() == 0:
                return float(truth.std() == 0 and reward.std() == 0 and truth[0] > 0)
            return float(np.corrcoef(reward, truth)[0, 1])
        return None

    def agreements(self) -> list[Agreement]:
        """Of the reward with each kind of truth that is there, human marks first."""
        usable = [name for name in ORDER if len(self._pairs[name]) >= 8 and _answered(name, self._pairs[name])]
        return [_agreement(name, self._pairs[name]) for name in usable]


def disagreement(agreements: Sequence[Agreement]) -> Finding | NotMeasured | None:
    """Whether the reward orders the samples as the most trusted truth does."""
    if not agreements:
        return NotMeasured("no gold score, right answer or human mark is recorded to hold the reward against")
    found = agreements[0]
    low, high = found.interval
    if high >= WEAK:
        return None
    return Finding(
        message=(
            f"the reward correlates with {found.source} by {number(found.correlation)} only (95 % {number(low)} to "
            f"{number(high)}, {count(found.pairs, 'sample')}), and {count(len(found.mismatches), 'sample')} earned much and "
            "are bad: read those first, then change the reward before training on"
        ),
        severity=Severity.NOTICE if found.source == "right answer" else Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="samples.reward",
        facts={"correlation": found.correlation, "source": found.source},
    )


def same_answer(completion: str, reference: str) -> bool:
    """Whether the final answer of a completion is the reference's, as text or as a number."""
    given, wanted = final_answer(completion), final_answer(reference) or plain(reference)
    if given == wanted:
        return True
    try:
        return math.isclose(float(given.replace(",", "")), float(wanted.replace(",", "")), rel_tol=1e-9)
    except ValueError:
        return False


def _answered(name: str, pairs: list[Pair]) -> bool:
    return name != "right answer" or sum(pair.truth for pair in pairs) / len(pairs) > ANSWERED


def _added(sums: dict[float, tuple[float, float]], step: float, value: float) -> dict[float, tuple[float, float]]:
    total, n = sums.get(step, (0.0, 0.0))
    sums[step] = total + value, n + 1
    if len(sums) <= MOST_STEPS:
        return sums
    steps = sorted(sums)
    pairs = zip_longest(steps[::2], steps[1::2])
    return {a: _sum(sums[a], sums[b]) if b is not None else sums[a] for a, b in pairs}


def _sum(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return a[0] + b[0], a[1] + b[1]


def _series(name: str, sums: Mapping[float, tuple[float, float]]) -> Series:
    steps = sorted(sums)
    return Series(name=name, steps=np.array(steps), values=np.array([sums[s][0] / sums[s][1] for s in steps]))


def _agreement(source: str, pairs: list[Pair]) -> Agreement:
    reward = np.array([pair.reward for pair in pairs])
    truth = np.array([pair.truth for pair in pairs])
    rho = _spearman(reward, truth)
    reach = quantile(0.975) / math.sqrt(max(1, len(pairs) - 3))
    z = math.atanh(max(-0.999999, min(0.999999, rho)))
    return Agreement(
        correlation=rho,
        interval=(math.tanh(z - reach), math.tanh(z + reach)),
        pairs=len(pairs),
        source=source,
        curve=_tenths(reward, truth),
        mismatches=tuple(_mismatches(reward, truth, pairs)),
    )


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    x, y = _ranks(a), _ranks(b)
    spread = float(x.std() * y.std())
    return float(np.mean((x - x.mean()) * (y - y.mean()))) / spread if spread else 0.0


def _ranks(values: np.ndarray) -> np.ndarray:
    """Mid-ranks, (n,)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[inverse])


def _tenths(reward: np.ndarray, truth: np.ndarray) -> tuple[tuple[float, float, float], ...]:
    """The proxy against the gold: means of both in tenths of the samples, ordered by reward."""
    parts = np.array_split(np.argsort(reward, kind="stable"), min(10, len(reward)))
    return tuple((float(reward[part].mean()), float(truth[part].mean()), float(len(part))) for part in parts)


def _mismatches(reward: np.ndarray, truth: np.ndarray, pairs: list[Pair]) -> Iterator[Mismatch]:
    """High reward, low truth, each on its own range; the worst first."""
    if np.ptp(reward) == 0 or np.ptp(truth) == 0:
        return
    high = (reward - reward.min()) / np.ptp(reward)
    low = (truth - truth.min()) / np.ptp(truth)
    for i in np.argsort(low - high, kind="stable")[:50]:
        if high[i] > HIGH and low[i] < LOW:
            yield Mismatch(pairs[i].sample, float(reward[i]), float(truth[i]))
