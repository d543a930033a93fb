"""Samples -> a table of bounded size: for each step the sums of every column, and a few samples.

The table needs one pass over the dump. Data that does not fit is coarsened and never dropped: with more steps than
`MOST_STEPS`, a row covers several steps; with more groups than `MOST_GROUPS`, only the means of steps are kept. The tables
of the parts of a dump are merged into one table.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from firstbreak.audit.bounded import Bins, Choice
from firstbreak.audit.metrics import Measure, metrics
from firstbreak.audit.metrics._answer import final_answer
from firstbreak.audit.split_truth import PolicySample
from firstbreak.engine.inputs import ANSWER, FORM
from firstbreak.model import Series

MOST_STEPS = 512  #: rows; the search for an onset uses as many points
MOST_GROUPS = 4096  #: groups of samples whose means are kept one by one
MOST_PARTS = 24  #: reward components that get a column
KEPT = 16  #: samples kept of each row
LATEST = 512  #: samples kept of the newest step
BATCH = 256  #: samples measured at a time, at least
MOST_BATCHES = 16
LONGEST = 4000  #: characters of a kept text; of a longer text, the beginning and the end are kept
LARGEST = 1e100  #: larger or non-finite values count as absent, because their squares overflow
MATERIAL = 0.05  #: of the range of a step's rewards: less is the rounding of a reward model
REWARD = "reward"
JUDGED = re.compile(r"judge|model|llm|grader|critic|(?:^|_)rm(?:$|_)|prefer|helpful|quality", re.IGNORECASE)  #: no rule
COUNT, TOTAL, SQUARE, GROUPS, GROUP_TOTAL, GROUP_SQUARE = range(6)
OWN, WITH_REWARD = range(2)


@dataclass(eq=False)
class StepSums:
    """The sums of one step, without absent values."""

    #: (6, columns): count, sum and sum of squares of the values; the same of the means of groups
    sums: np.ndarray
    #: (2, columns): products of deviations from the group mean, with themselves and with those of the reward
    within: np.ndarray
    alike: np.ndarray  #: the same, from the mean of the samples of a group with the same final answer
    freedom: int = 0  #: degrees of freedom of `alike`: samples minus means
    groups: int = 0  #: with two rewards or more
    equal: int = 0  #: of these, those whose rewards are all equal
    twice: int = 0  #: texts that a group holds twice or more
    differ: int = 0  #: of these, those whose rewards differ
    lowest: float = math.inf  #: reward
    highest: float = -math.inf
    samples: int = 0
    choice: Choice[PolicySample] = field(default_factory=lambda: Choice(KEPT))

    @classmethod
    def empty(cls, columns: int) -> StepSums:
        """A row without a sample."""
        return cls(np.zeros((6, columns)), np.zeros((2, columns)), np.zeros((2, columns)))

    @property
    def kept(self) -> list[PolicySample]:
        """The kept samples of this step."""
        return self.choice.things

    def merge(self, other: StepSums) -> None:
        """Add the sums of another row with the same columns."""
        self.sums += other.sums
        self.within += other.within
        self.alike += other.alike
        for name in ("freedom", "groups", "equal", "twice", "differ", "samples"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.lowest, self.highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
        self.choice.merge(other.choice)

    def count_groups(self, group: np.ndarray, text: np.ndarray, rewards: np.ndarray) -> None:
        """Count the groups and the texts of a step whose rewards are all equal; arrays of shape (samples,)."""
        known = np.isfinite(rewards)
        if not known.any():
            return
        self.lowest = min(self.lowest, float(rewards[known].min()))
        self.highest = max(self.highest, float(rewards[known].max()))
        rewards = rewards[known]
        spread = _spreads(group[known], rewards)
        self.groups += len(spread)
        self.equal += int((spread == 0).sum())
        spread = _spreads(text[known], rewards)
        self.twice += len(spread)
        self.differ += int((spread > MATERIAL * np.ptp(rewards)).sum())

    def reorder(self, order: Sequence[int]) -> None:
        """Put the column `order[j]` at place j."""
        self.sums, self.within, self.alike = (a[:, order] for a in (self.sums, self.within, self.alike))


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanCurve:
    """One column over the steps, with the 95 % interval of each mean; arrays of shape (rows,)."""

    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class SampleTable:
    """The table of a dump after one pass. `columns`: side metrics, the reward, then its components as they appear.

    `seed` selects the samples that are kept. Tables that will be merged need different seeds.
    """

    def __init__(self, seed: int = 0) -> None:
        self.columns = [m.id for m in metrics().values() if m.measure] + [REWARD]
        self.sides = len(self.columns) - 1  #: the first so many columns are side metrics
        self.samples = self.without_step = self.without_reward = 0
        self._width = self.sides + 1 + MOST_PARTS + 1  # the last column of every array stays empty
        self._bins = Bins(MOST_STEPS, partial(StepSums.empty, self._width))
        self._groups: list[tuple[float, np.ndarray]] | None = []  #: step and means (columns,); None: too many
        self._newest, self._latest = -math.inf, Choice[PolicySample](LATEST)
        self._random = random.Random(seed)

    # Filling ------------------------------------------------------------------------------------------------------------

    def add(self, samples: Iterable[PolicySample]) -> None:
        """Measure and count samples, in the order of the dump."""
        for batch in _batches(samples):
            values = self._values(batch)
            cuts = [0, *(i for i in range(1, len(batch)) if batch[i].step != batch[i - 1].step), len(batch)]
            for start, end in pairwise(cuts):
                self._add_step(batch[start:end], values[start:end])

    def merge(self, later: SampleTable) -> None:
        """Add the table of a later part of the dump. The other table must not be used afterwards."""
        later._reorder([self._column(name) for name in later.columns])
        self._bins.merge(later._bins)
        self._add_groups(later._groups)
        self.samples += later.samples
        self.without_step += later.without_step
        self.without_reward += later.without_reward
        self._reach(later._newest)
        if later._newest == self._newest:
            self._latest.merge(later._latest)

    def _reorder(self, places: Sequence[int | None]) -> None:
        """Move each column to its place. A place of None drops the column."""
        order = [-1] * self._width
        for column, place in enumerate(places):
            if place is not None:
                order[place] = column
        if order[: len(places)] == list(range(len(places))):
            return
        for _, row in self._bins.by_step():
            row.reorder(order)
        if self._groups is not None:
            self._groups = [(step, means[order]) for step, means in self._groups]

    def _values(self, batch: Sequence[PolicySample]) -> np.ndarray:
        """(samples, columns), NaN where a column does not apply."""
        values = np.full((len(batch), self._width), np.nan)
        values[:, : self.sides] = measure(batch)
        for row, sample in zip(values, batch, strict=True):
            if sample.reward is not None:
                row[self.sides] = sample.reward
            for name, value in sample.rewards.items():
                if (place := self._column(f"{REWARD}/{name}")) is not None:
                    row[place] = value
        values[~(np.abs(values) < LARGEST)] = np.nan
        self.samples += len(batch)
        self.without_step += sum(sample.step is None for sample in batch)
        self.without_reward += int(np.isnan(values[:, self.sides]).sum())
        return values

    def _column(self, name: str) -> int | None:
        """The index of a column. A new column is added if there is room."""
        if name not in self.columns:
            if len(self.columns) >= self._width - 1:
                return None
            self.columns.append(name)
        return self.columns.index(name)

    def _add_step(self, batch: Sequence[PolicySample], values: np.ndarray) -> None:
        """Add samples of one step, whole groups of them."""
        step = batch[0].step if batch[0].step is not None and math.isfinite(batch[0].step) else 0.0
        row = self._bins.at(step)
        numbers: dict[Any, int] = {}
        prompt = np.array([numbers.setdefault(_group(sample), len(numbers)) for sample in batch])
        # With one sample per prompt, samples can only be compared with those of other prompts.
        group = prompt if len(numbers) < len(batch) else np.zeros_like(prompt)
        means, products = _within(values, group, self.sides)
        row.sums[:GROUPS] += _moments(values)
        row.sums[GROUPS:] += _moments(means)
        row.within += products
        cells: dict[Any, int] = {}
        placed = list(zip(prompt.tolist(), batch, strict=True))
        same = ((p, final_answer(s.ending or s.completion), asked_for(s)) for p, s in placed)
        cell = np.array([cells.setdefault(key, len(cells)) for key in same])
        texts: dict[Any, int] = {}
        text = [texts.setdefault((p, s.completion, s.turns), len(texts)) for p, s in placed]
        row.count_groups(prompt, np.array(text), values[:, self.sides])
        row.alike += _within(values, cell, self.sides)[1]
        row.freedom += len(batch) - len(cells)
        row.samples += len(batch)
        self._reach(step)
        for sample in batch:
            self._offer(sample, row, latest=step == self._newest)
        self._add_groups([(step, mean) for mean in means])

    def _reach(self, step: float) -> None:
        """Start a new set of latest samples where the step is newer."""
        if step > self._newest:
            self._newest, self._latest = step, Choice(LATEST)

    def _offer(self, sample: PolicySample, row: StepSums, latest: bool) -> None:
        rank = self._random.random()
        if row.choice.wants(rank):
            row.choice.offer(rank, shortened(sample))
        if latest and self._latest.wants(rank):
            self._latest.offer(rank, shortened(sample))

    def _add_groups(self, groups: Sequence[tuple[float, np.ndarray]] | None) -> None:
        if self._groups is None or groups is None or len(self._groups) + len(groups) > MOST_GROUPS:
            self._groups = None
        else:
            self._groups += groups

    # Asking -------------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[tuple[float, StepSums]]:
        """(step, sums), in the order of the steps."""
        return self._bins.by_step()

    @property
    def latest(self) -> list[PolicySample]:
        """Samples of the newest step."""
        return self._latest.things

    @property
    def parts(self) -> list[str]:
        """The names of the reward components."""
        return [name.removeprefix(f"{REWARD}/") for name in self.columns[self.sides + 1 :]]

    def kept(self) -> Iterator[tuple[float, PolicySample]]:
        """The kept samples, each with its step."""
        return ((step, sample) for step, row in self.rows for sample in row.kept)

    def curve(self, column: str) -> MeanCurve:
        """The mean of a column at every step, with its interval. Groups are independent, samples of a group are not."""
        j = self.columns.index(column)
        rows = [(step, row.sums[:, j]) for step, row in self.rows if row.sums[COUNT, j]]
        steps, sums = np.array([step for step, _ in rows]), np.array([sums for _, sums in rows]).reshape(-1, 6)
        mean = sums[:, TOTAL] / sums[:, COUNT]
        clusters = sums[:, GROUPS] > 1
        n = np.where(clusters, sums[:, GROUPS], sums[:, COUNT])
        middle = np.where(clusters, sums[:, GROUP_TOTAL], sums[:, TOTAL]) / n
        spread = np.where(clusters, sums[:, GROUP_SQUARE], sums[:, SQUARE]) / n - middle**2
        error = np.sqrt(np.maximum(spread, 0.0) / np.maximum(n - 1, 1))
        return MeanCurve(steps=steps, mean=mean, low=mean - 1.96 * error, high=mean + 1.96 * error)

    def series(self, column: str) -> Series:
        """The points for change detection: the means of groups where there are few groups, else the means of steps."""
        curve = self.curve(column)
        steps, values = curve.steps, curve.mean
        if self._groups is not None:
            j = self.columns.index(column)
            points = sorted(((step, m[j]) for step, m in self._groups if np.isfinite(m[j])), key=lambda p: p[0])
            steps, values = np.array([step for step, _ in points]), np.array([value for _, value in points])
        return Series(name=f"samples.{column}", steps=steps, values=values)

    def early(self) -> list[tuple[float, StepSums]]:
        """The first quarter of the rows, at least one."""
        rows = self.rows
        return rows[: max(1, len(rows) // 4)]

    def late(self) -> list[tuple[float, StepSums]]:
        """The last quarter of the rows, at least one."""
        rows = self.rows
        return rows[-max(1, len(rows) // 4) :]

    def baseline(self) -> list[PolicySample]:
        """The kept samples of the first steps."""
        return [sample for _, row in self.early() for sample in row.kept]


def measure(batch: Sequence[PolicySample]) -> np.ndarray:
    """The side metrics of samples, (samples, metrics). NaN where a metric fails on a sample."""
    asked = [m.measure for m in metrics().values() if m.measure]
    return np.array([[_attempt(ask, sample) for ask in asked] for sample in batch], dtype=float)


def asked_for(sample: PolicySample) -> tuple[float, ...]:
    """What the parts of the reward with a rule say: those for the answer and for a form that is asked for, and no judge's."""
    return tuple(sample.rewards[name] for name in _ruled(tuple(sample.rewards)))


@lru_cache(maxsize=256)
def _ruled(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if (ANSWER.search(name) or FORM.search(name)) and not JUDGED.search(name))


def _attempt(ask: Measure, sample: PolicySample) -> float:
    try:
        return ask(sample)
    except Exception:  # a third-party metric or an unexpected record must not stop the other metrics
        return math.nan


def _batches(samples: Iterable[PolicySample]) -> Iterator[list[PolicySample]]:
    """Lists of at least BATCH samples (the last may be shorter). A step is split only where it is larger than four, and a
    group whose samples stand together only where it is larger than sixteen."""
    batch: list[PolicySample] = []
    for sample in samples:
        full = len(batch) // BATCH
        if full and (
            sample.step != batch[-1].step or (full >= 4 and _group(sample) != _group(batch[-1])) or full >= MOST_BATCHES
        ):
            yield batch
            batch = []
        batch.append(sample)
    if batch:
        yield batch


def _group(sample: PolicySample) -> tuple[float | None, str]:
    return sample.step, sample.prompt if sample.group is None else sample.group


def _spreads(group: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """The range of the rewards (n,) of each group with two of them or more."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    low, high = (ufunc.reduceat(rewards[order], starts) for ufunc in (np.minimum, np.maximum))
    return np.asarray((high - low)[np.diff(starts, append=len(order)) > 1])


def _moments(values: np.ndarray) -> np.ndarray:
    """(3, columns): the number of values of each column, their sum, and the sum of their squares."""
    filled = np.nan_to_num(values)
    return np.array([np.isfinite(values).sum(axis=0), filled.sum(axis=0), (filled**2).sum(axis=0)])


def _within(values: np.ndarray, group: np.ndarray, reward: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of each group, (groups, columns), NaN where it has no value; and the products of the deviations from them with
    themselves and with the reward's, (2, columns). `group` numbers the groups from 0."""
    order = np.argsort(group, kind="stable")
    values, group = values[order], group[order]
    present = np.isfinite(values)
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(np.where(present, values, 0.0), starts) / np.add.reduceat(present, starts, dtype=float)
    deviation = np.where(present, values - means[group], 0.0)
    return means, np.array([(deviation**2).sum(axis=0), (deviation * deviation[:, [reward]]).sum(axis=0)])


def shortened(sample: PolicySample) -> PolicySample:
    """A sample whose texts are not longer than LONGEST characters: their beginning and their end."""
    if len(sample.prompt) <= LONGEST and len(sample.completion) <= LONGEST:
        return sample
    return replace(sample, prompt=_ends(sample.prompt), completion=_ends(sample.completion))


def _ends(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    head = LONGEST * 3 // 4
    return f"{text[:head]}\n[... {len(text) - LONGEST:,} characters left out ...]\n{text[head - LONGEST :]}"
