"""The only code that reads the truth: gold scores, right answers, and the marks of people.

It returns only results about many samples (a curve over the steps, a correlation), or about samples that are already
judged. Code that searches for shifts of behaviour does not use this module; see `split_truth`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firstbreak.audit.bounded import Bins, Choice
from firstbreak.audit.marks import HACK, KEEP, key_of
from firstbreak.audit.metrics._answer import final_answer, plain
from firstbreak.audit.metrics.empty_claim import outcome
from firstbreak.audit.split_truth import Oracle, PolicySample, split
from firstbreak.audit.table import shortened
from firstbreak.engine.checks import graded, seen_as
from firstbreak.engine.stats.normal import quantile
from firstbreak.model import Finding, Interval, NotMeasured, Sample, Series, Severity
from firstbreak.preflight.reward.distribution import ranks
from firstbreak.reports.text import count
from firstbreak.words import number

MOST_STEPS = 4096  #: steps whose means are kept; with more, neighbours are joined
OWN = "its verifier's verdict"  #: may be hacked: a low correlation with it is evidence, a high one is not
ORDER = ("human marks", "gold score", "right answer", OWN)  #: kinds of truth, the most trusted first
TOLD = {
    "human marks": "the human marks", "gold score": "the score of a person or trusted grader (gold score)",
    "right answer": "the right answers", OWN: OWN,
}  # fmt: skip
WEAK = 0.5  #: a reward whose correlation with the truth is surely lower than this rewards something else
FEWEST = 16  #: fewest samples for a correlation of reward and truth
MOST_PAIRS = 4096  #: samples that are kept for the correlation
#: a reward in the upper tenth is high, of the samples or of their range; a truth below this share of its range is low
HIGH, LOW = 0.9, 0.4
SHOWN = 50  #: mismatches that are kept to be read
#: smallest share of right answers; with a lower share, answers are written in another form than recorded
ANSWERED = 0.02
BLOCK = 16  #: fewest samples that are compared with each other; samples of other steps come from another policy
RESAMPLED = 999


@dataclass(frozen=True)
class ScoredSample:
    """A sample with its reward and the truth about it."""

    step: float
    reward: float
    truth: float
    sample: PolicySample


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How well the order of samples by reward agrees with their order by truth."""

    correlation: float  #: Spearman's rho
    interval: Interval
    pairs: int
    source: str  #: what the truth is
    curve: tuple[tuple[float, float, float], ...]  #: (mean reward, mean truth, samples) of each tenth by reward
    high: int  #: samples with a high reward
    mismatched: int  #: those of them that are bad
    mismatches: tuple[ScoredSample, ...]  #: the worst of these


@dataclass(frozen=True, kw_only=True)
class TruthCorrelation:
    """The correlation of the reward with the truth about the same samples."""

    correlation: float  #: among samples of about the same time
    interval: Interval  #: 95 %
    source: str  #: what the truth is


@dataclass
class Mean:
    """A running mean."""

    total: float = 0.0
    n: int = 0

    def add(self, value: float) -> None:
        """Add one value."""
        self.total += value
        self.n += 1

    def merge(self, other: Mean) -> None:
        """Add the values of another one."""
        self.total += other.total
        self.n += other.n

    @property
    def value(self) -> float:
        """The mean of all values."""
        return self.total / self.n


class TruthStore:
    """The truth about all samples of a dump, in bounded memory.

    `marks`: key of a sample -> keep, hack, unsure. `seed`: as that of `SampleTable`.
    """

    def __init__(self, marks: Mapping[str, str] | None = None, seed: int = 0) -> None:
        self._marks = marks or {}
        self._gold, self._graded = Bins(MOST_STEPS, Mean), Bins(MOST_STEPS, Mean)
        self._pairs = {source: Choice[ScoredSample](MOST_PAIRS) for source in ORDER}
        self._random = random.Random(seed)

    def watch(self, samples: Iterable[Sample]) -> Iterator[PolicySample]:
        """Yield the samples without their truth, and keep the truth."""
        for sample in samples:
            seen, oracle = split(sample)
            self._note(seen, oracle)
            yield seen

    def merge(self, later: TruthStore) -> None:
        """Add the truth about a later part of the dump."""
        self._gold.merge(later._gold)
        self._graded.merge(later._graded)
        for source, pairs in self._pairs.items():
            pairs.merge(later._pairs[source])

    def _note(self, seen: PolicySample, oracle: Oracle) -> None:
        step = seen.step if seen.step is not None and math.isfinite(seen.step) else 0.0
        known: dict[str, float] = {}
        if oracle.score is not None:
            self._gold.at(step).add(oracle.score)
            known["gold score"] = oracle.score
        if oracle.reference is not None:
            right = float(same_answer(seen.completion, oracle.reference))
            self._graded.at(step).add(right)
            known["right answer"] = right
        if self._marks and (mark := self._marks.get(key_of(seen))) in (KEEP, HACK):
            known["human marks"] = float(mark == KEEP)
        if (checked := outcome(seen)) is not None:
            known[OWN] = float(checked)
        if known and seen.reward is not None:
            self._pair(step, seen, seen.reward, known)

    def _pair(self, step: float, seen: PolicySample, reward: float, known: Mapping[str, float]) -> None:
        rank = self._random.random()  # one number for all kinds of truth, so that the same samples are kept for each
        for source, truth in known.items():
            if self._pairs[source].wants(rank):
                self._pairs[source].offer(rank, ScoredSample(step, reward, truth, shortened(seen)))

    def _answered(self) -> bool:
        """Whether answers have the recorded form. With hardly any right answer, they have another form."""
        means = [mean for _, mean in self._graded.by_step()]
        return sum(mean.total for mean in means) > ANSWERED * sum(mean.n for mean in means)

    def _usable(self, source: str) -> list[ScoredSample]:
        if source == "right answer" and not self._answered():
            return []
        pairs = self._pairs[source].things
        return pairs if source != OWN or _differ(pairs) else []

    def curves(self) -> dict[str, Series]:
        """The recorded truth over the steps: the mean gold score, and the share of right answers."""
        found = {"gold score": self._gold.by_step()}
        if self._answered():
            found["right answer"] = self._graded.by_step()
        values = {name: [(step, mean.value) for step, mean in means] for name, means in found.items() if means}
        return {
            n: Series(name=n, steps=steps, values=v) for n, pairs in values.items() for steps, v in [np.array(pairs).T]
        }

    def truth_correlation(self, since: float = -math.inf, until: float = math.inf) -> TruthCorrelation | None:
        """The correlation of the reward with the most trusted truth, for samples between two steps. None where there are
        too few samples, or where the truth is the same for all of them."""
        for source in ORDER:
            if len(pairs := [pair for pair in self._usable(source) if since <= pair.step < until]) >= FEWEST:
                return _truth_correlation(source, pairs)
        return None

    def late_correlation(self, since: float) -> TruthCorrelation | None:
        """The correlation in the later half of the steps from `since` on, or in all of them if the half has too few."""
        steps = [pair.step for source in ORDER for pair in self._usable(source) if pair.step >= since]
        middle = (min(steps) + max(steps)) / 2 if steps else since
        return self.truth_correlation(middle) or self.truth_correlation(since)

    def agreements(self) -> list[Agreement]:
        """The agreement of the reward with each recorded kind of truth, human marks first."""
        usable = {source: self._usable(source) for source in ORDER}
        return [_agreement(source, pairs) for source, pairs in usable.items() if len(pairs) >= 8]


def disagreement(agreements: Sequence[Agreement]) -> Finding | NotMeasured | None:
    """Whether the reward orders the samples like the most trusted truth."""
    if not agreements:
        return NotMeasured("no gold score, right answer, verdict or human mark is recorded to compare the reward with")
    found = agreements[0]
    low, high = found.interval
    if high >= WEAK:
        return None
    return graded(
        Severity.WARNING if found.source in ORDER[:2] else Severity.NOTICE,
        f"the reward does not agree with {TOLD[found.source]}: the correlation is only {number(found.correlation)} "
        f"(95 % {number(low)} to {number(high)}, {count(found.pairs, 'sample')}), and "
        f"{found.mismatched} of {count(found.high, 'sample')} with a high reward {'is' if found.mismatched == 1 else 'are'} "
        "bad. "
        "Read these samples first, then change the reward before you continue",
        seen_as("samples.reward"),
        numbers={"correlation": found.correlation, "source": found.source},
    )


def _differ(pairs: Sequence[ScoredSample]) -> bool:
    """Whether the verdict differs from the reward, and is not the reward under another name."""
    rewards_by_truth: dict[float, set[float]] = {}
    for pair in pairs:
        rewards_by_truth.setdefault(pair.truth, set()).add(pair.reward)
    return any(len(rewards) > 1 for rewards in rewards_by_truth.values())


def _truth_correlation(source: str, pairs: Sequence[ScoredSample]) -> TruthCorrelation | None:
    """Pooled correlation within blocks of time, and a bootstrap over prompts (Efron & Tibshirani, 1993, ch. 8).

    The trends of both over the run are removed: a reward and a truth that rise for different reasons do not count as
    correlated. Samples of one prompt are not independent, so the bootstrap draws prompts and not samples.
    """
    reward, truth = np.array([p.reward for p in pairs]), np.array([p.truth for p in pairs])
    if np.ptp(reward) == 0 and np.ptp(truth) == 0 and truth[0] > 0:  # all answers are right and have the same reward
        return TruthCorrelation(correlation=1.0, interval=(1.0, 1.0), source=source)
    steps, at = np.unique([p.step for p in pairs], return_inverse=True)
    block = at * max(1, min(len(steps), len(pairs) // BLOCK)) // len(steps)
    x, y = _centred(reward, block), _centred(truth, block)
    if not y.any():
        return None
    names: dict[tuple[float, str], int] = {}
    prompt = np.array([names.setdefault((p.step, p.sample.group or p.sample.prompt), len(names)) for p in pairs])
    products = np.array([np.bincount(prompt, product) for product in (x * y, x * x, y * y)])  # (3, prompts)
    n = len(names)
    drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLED)
    low, high = np.quantile([_ratio(*(products @ times)) for times in drawn], (0.025, 0.975))
    return TruthCorrelation(correlation=_ratio(*products.sum(1)), interval=(float(low), float(high)), source=source)


def _centred(values: np.ndarray, block: np.ndarray) -> np.ndarray:
    """Values minus the mean of their block; exactly zero where all values of a block are equal."""
    first = values[np.unique(block, return_index=True)[1]][block]
    shifted = values - first
    return np.asarray(shifted - (np.bincount(block, shifted) / np.bincount(block))[block])


def _ratio(product: float, one: float, other: float) -> float:
    """A correlation. 0 where one of the two does not vary: an equal reward for right and wrong does not follow the truth."""
    return float(product / math.sqrt(one * other)) if one * other > 0 else 0.0


def same_answer(completion: str, reference: str) -> bool:
    """Whether the final answer of a completion equals the reference, as text or as a number."""
    given, wanted = final_answer(completion), final_answer(reference) or plain(reference)
    if given == wanted:
        return True
    try:
        return math.isclose(float(given.replace(",", "")), float(wanted.replace(",", "")), rel_tol=1e-9)
    except ValueError:
        return False


def _agreement(source: str, pairs: list[ScoredSample]) -> Agreement:
    reward = np.array([pair.reward for pair in pairs])
    truth = np.array([pair.truth for pair in pairs])
    rho = _spearman(reward, truth)
    reach = quantile(0.975) / math.sqrt(max(1, len(pairs) - 3))
    z = math.atanh(max(-0.999999, min(0.999999, rho)))
    high = _high(reward)
    bad = high & (_within(truth) < LOW) & bool(np.ptp(truth))
    worst = np.argsort(_within(truth) - _within(reward), kind="stable")
    return Agreement(
        correlation=rho,
        interval=(math.tanh(z - reach), math.tanh(z + reach)),
        pairs=len(pairs),
        source=source,
        curve=_tenths(reward, truth),
        high=int(high.sum()),
        mismatched=int(bad.sum()),
        mismatches=tuple(pairs[i] for i in worst if bad[i])[:SHOWN],
    )


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    x, y = ranks(a), ranks(b)
    spread = float(x.std() * y.std())
    return float(np.mean((x - x.mean()) * (y - y.mean()))) / spread if spread else 0.0


def _tenths(reward: np.ndarray, truth: np.ndarray) -> tuple[tuple[float, float, float], ...]:
    """Means of the reward and of the truth in tenths of the samples, ordered by reward."""
    parts = np.array_split(np.argsort(reward, kind="stable"), min(10, len(reward)))
    return tuple((float(reward[part].mean()), float(truth[part].mean()), float(len(part))) for part in parts)


def _high(reward: np.ndarray) -> np.ndarray:
    """The upper tenth of the samples, and of the range: one outlier makes no other reward low, nor a common reward high."""
    tenth = (reward >= np.quantile(reward, HIGH)) & (reward > np.median(reward))
    return np.asarray(tenth | (_within(reward) > HIGH))


def _within(values: np.ndarray) -> np.ndarray:
    """Where each value lies in the range of all of them, from 0 to 1."""
    return np.asarray((values - values.min()) / (np.ptp(values) or 1.0))
