"""Samples -> a table of bounded size: per step the sums of every column, a few samples that are kept, and little else.

One pass, whatever the dump holds. What does not fit is coarsened and never dropped: more steps than `MOST_STEPS` become
bins of several steps, and more groups than `MOST_GROUPS` leave the means of the steps only.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics import Measure, metrics
from firstbreak.audit.metrics._answer import final_answer
from firstbreak.model import Series

MOST_STEPS = 512  #: rows: as many points as the search for an onset looks at
MOST_GROUPS = 4096  #: groups of samples whose means are kept one by one
MOST_PARTS = 24  #: reward components that get a column
KEPT = 16  #: samples kept of each row
LATEST = 512  #: samples kept of the newest row
BATCH = 256  #: samples measured at a time, at least
LONGEST = 4000  #: characters of a kept text; of a longer one its beginning and its end are kept
LARGEST = 1e100  #: what is larger, or not finite, counts as absent: its square is no number
REWARD = "reward"
COUNT, TOTAL, SQUARE, GROUPS, GROUP_TOTAL, GROUP_SQUARE = range(6)


@dataclass(eq=False)
class Row:
    """The sums of one step. Absent values are left out of them."""

    sums: (
        np.ndarray
    )  #: (6, columns): values, their sum and squares; groups with a value, the sum of their means, squares
    within: np.ndarray  #: (columns, columns): products of deviations from the mean of the group
    alike: np.ndarray  #: the same from the mean of those of the group that give the same final answer
    freedom: int = 0  #: samples less the means that `alike` is measured from
    samples: int = 0
    kept: list[PolicySample] = field(default_factory=list)

    def absorb(self, later: Row, rng: random.Random) -> None:
        """Take over another row."""
        self.sums += later.sums
        self.within += later.within
        self.alike += later.alike
        self.freedom += later.freedom
        self.samples += later.samples
        both = self.kept + later.kept
        self.kept = rng.sample(both, min(KEPT, len(both)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """One column over the steps, with the 95 % interval of each mean; arrays of shape (rows,)."""

    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Table:
    """What is known of a dump after one pass. `columns`: side metrics, the reward, then its components as they appear."""

    def __init__(self, seed: int = 0) -> None:
        self.columns = [m.id for m in metrics().values() if m.measure] + [REWARD]
        self.sides = len(self.columns) - 1  #: the first so many columns are side metrics
        self.samples = self.bytes = self.without_step = self.without_reward = 0
        self.latest: list[PolicySample] = []  #: of the newest step
        self._newest, self._seen = -math.inf, 0
        self._rows: dict[float, Row] = {}
        self._bin = 0.0  #: steps in one row; 0: each step has its own
        self._groups: list[tuple[float, np.ndarray]] | None = []  #: step and means (columns,); None: too many
        self._rng = random.Random(seed)

    # Filling ------------------------------------------------------------------------------------------------------------

    def add(self, samples: Iterable[PolicySample], processes: int = 1) -> None:
        """Measure and count samples, in the order of the dump; with several processes, measure in all of them."""
        for batch, sides in _measured(_batches(samples), processes):
            values = self._values(batch, sides)
            cuts = [0, *(i for i in range(1, len(batch)) if batch[i].step != batch[i - 1].step), len(batch)]
            for start, end in pairwise(cuts):
                self._add_step(batch[start:end], values[start:end])

    def _values(self, batch: Sequence[PolicySample], sides: np.ndarray) -> np.ndarray:
        """(samples, columns), NaN where a column does not apply."""
        values = np.full((len(batch), self.sides + 1 + MOST_PARTS), np.nan)
        values[:, : self.sides] = sides
        for i, sample in enumerate(batch):
            self.bytes += len(sample.prompt) + len(sample.completion)
            if sample.reward is not None:
                values[i, self.sides] = sample.reward
            for name, value in sample.rewards.items():
                j = self._column(name)
                if j is not None:
                    values[i, j] = value
        values[~(np.abs(values) < LARGEST)] = np.nan
        self.samples += len(batch)
        self.without_step += sum(sample.step is None for sample in batch)
        self.without_reward += int(np.isnan(values[:, self.sides]).sum())
        return values

    def _column(self, part: str) -> int | None:
        name = f"{REWARD}/{part}"
        if name not in self.columns:
            if len(self.columns) >= self.sides + 1 + MOST_PARTS:
                return None
            self.columns.append(name)
        return self.columns.index(name)

    def _add_step(self, batch: Sequence[PolicySample], values: np.ndarray) -> None:
        """Add samples of one step, whole groups of them."""
        step = batch[0].step if batch[0].step is not None and math.isfinite(batch[0].step) else 0.0
        row = self._row(step)
        group = np.cumsum([0, *(_group(a) != _group(b) for a, b in pairwise(batch))])
        if group[-1] == len(batch) - 1:
            group[:] = 0  # one sample of each prompt: they can be compared with each other only
        means, products = _within(values, group)
        row.sums[:GROUPS] += [np.isfinite(values).sum(axis=0), np.nansum(values, axis=0), np.nansum(values**2, axis=0)]
        row.sums[GROUPS:] += [np.isfinite(means).sum(axis=0), np.nansum(means, axis=0), np.nansum(means**2, axis=0)]
        row.within += products
        cells: dict[tuple[int, str], int] = {}
        answers = (final_answer(sample.completion) for sample in batch)
        cell = np.array([cells.setdefault(key, len(cells)) for key in zip(group.tolist(), answers, strict=True)])
        row.alike += _within(values, cell)[1]
        row.freedom += len(batch) - len(cells)
        for sample in batch:
            row.samples += 1
            _reservoir(row.kept, sample, row.samples, KEPT, self._rng)
            self._see(step, sample)
        if self._groups is not None:
            self._groups += [(step, mean) for mean in means]
            if len(self._groups) > MOST_GROUPS:
                self._groups = None

    def _see(self, step: float, sample: PolicySample) -> None:
        if step > self._newest:
            self._newest, self._seen, self.latest = step, 0, []
        if step == self._newest:
            self._seen += 1
            _reservoir(self.latest, sample, self._seen, LATEST, self._rng)

    def _row(self, step: float) -> Row:
        at = self._place(step)
        if at not in self._rows:
            width = self.sides + 1 + MOST_PARTS
            self._rows[at] = Row(np.zeros((6, width)), np.zeros((width, width)), np.zeros((width, width)))
            self._coarsen()
        return self._rows[self._place(step)]

    def _place(self, step: float) -> float:
        return step // self._bin * self._bin if self._bin else step

    def _coarsen(self) -> None:
        """Twice as many steps in a row, until there are few enough rows."""
        while len(self._rows) > MOST_STEPS:
            rows, self._rows = sorted(self._rows.items()), {}
            self._bin = 2 * self._bin or (rows[-1][0] - rows[0][0]) / MOST_STEPS * 2
            for step, row in rows:
                at = self._place(step)
                if at in self._rows:
                    self._rows[at].absorb(row, self._rng)
                else:
                    self._rows[at] = row

    # Asking -------------------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[tuple[float, Row]]:
        """(step, sums), in the order of the steps."""
        return sorted(self._rows.items())

    @property
    def parts(self) -> list[str]:
        """The names of the reward components."""
        return [name.removeprefix(f"{REWARD}/") for name in self.columns[self.sides + 1 :]]

    def kept(self) -> Iterator[tuple[float, PolicySample]]:
        """The samples that were kept of each step, with that step."""
        return ((step, sample) for step, row in self.rows for sample in row.kept)

    def curve(self, column: str) -> Curve:
        """The mean of a column at every step, and its interval; groups, not samples, are what is independent."""
        j = self.columns.index(column)
        rows = [(step, row.sums[:, j]) for step, row in self.rows if row.sums[COUNT, j]]
        steps, sums = np.array([step for step, _ in rows]), np.array([sums for _, sums in rows]).reshape(-1, 6)
        mean = sums[:, TOTAL] / sums[:, COUNT]
        clusters = sums[:, GROUPS] > 1
        n = np.where(clusters, sums[:, GROUPS], sums[:, COUNT])
        middle = np.where(clusters, sums[:, GROUP_TOTAL], sums[:, TOTAL]) / n
        spread = np.where(clusters, sums[:, GROUP_SQUARE], sums[:, SQUARE]) / n - middle**2
        error = np.sqrt(np.maximum(spread, 0.0) / np.maximum(n - 1, 1))
        return Curve(steps=steps, mean=mean, low=mean - 1.96 * error, high=mean + 1.96 * error)

    def series(self, column: str) -> Series:
        """The points in which changes are looked for: the means of the groups where there are few, else of the steps."""
        curve = self.curve(column)
        steps, values = curve.steps, curve.mean
        if self._groups is not None:
            j = self.columns.index(column)
            points = sorted(
                ((step, means[j]) for step, means in self._groups if np.isfinite(means[j])), key=lambda p: p[0]
            )
            steps, values = np.array([step for step, _ in points]), np.array([value for _, value in points])
        return Series(name=f"samples.{column}", steps=steps, values=values)

    def spread(self, column: str) -> float:
        """Standard deviation of the samples of the first steps, 0 where nothing is known."""
        j = self.columns.index(column)
        count, total, square = np.sum([row.sums[:GROUPS, j] for _, row in self.early()], axis=0)
        return math.sqrt(max(0.0, square / count - (total / count) ** 2)) if count else 0.0

    def early(self) -> list[tuple[float, Row]]:
        """The first quarter of the rows, at least one."""
        rows = self.rows
        return rows[: max(1, len(rows) // 4)]

    def late(self) -> list[tuple[float, Row]]:
        """The last quarter of the rows, at least one."""
        rows = self.rows
        return rows[-max(1, len(rows) // 4) :]

    def baseline(self) -> list[PolicySample]:
        """The samples that were kept of the first steps."""
        return [sample for _, row in self.early() for sample in row.kept]


def measure(batch: Sequence[PolicySample]) -> np.ndarray:
    """The side metrics of some samples, (samples, metrics); a metric that fails on a sample does not apply to it."""
    asked = [m.measure for m in metrics().values() if m.measure]
    return np.array([[_attempt(ask, sample) for ask in asked] for sample in batch])


def _attempt(ask: Measure, sample: PolicySample) -> float:
    try:
        return ask(sample)
    except Exception:  # a third party's metric, or a record that nobody has thought of: the others go on
        return math.nan


def _measured(batches: Iterable[list[PolicySample]], processes: int) -> Iterator[tuple[list[PolicySample], np.ndarray]]:
    """Each batch with its side metrics, in order; so few batches are on their way that memory stays bounded."""
    if processes <= 1:
        yield from ((batch, measure(batch)) for batch in batches)
        return
    with ProcessPoolExecutor(processes) as pool:
        waiting: deque[tuple[list[PolicySample], Future[np.ndarray]]] = deque()
        for batch in batches:
            waiting.append((batch, pool.submit(measure, batch)))
            if len(waiting) > 2 * processes:
                done, values = waiting.popleft()
                yield done, values.result()
        yield from ((batch, values.result()) for batch, values in waiting)


def _batches(samples: Iterable[PolicySample]) -> Iterator[list[PolicySample]]:
    """Lists of at least BATCH samples (the last may be shorter) that cut no group, unless it is larger than a batch."""
    batch: list[PolicySample] = []
    for _, group in groupby(samples, key=_group):
        for sample in group:
            batch.append(sample)
            if len(batch) >= 4 * BATCH:
                yield batch
                batch = []
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _group(sample: PolicySample) -> tuple[float | None, str]:
    return sample.step, sample.prompt if sample.group is None else sample.group


def _within(values: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means of each group (groups, columns), NaN where it has no value, and the products of the deviations from them."""
    present = np.isfinite(values)
    filled = np.where(present, values, 0.0)
    groups = int(group.max()) + 1
    membership = np.zeros((groups, len(values)))
    membership[group, np.arange(len(values))] = 1.0
    with np.errstate(invalid="ignore"):
        means = (membership @ filled) / (membership @ present)
    deviation = np.where(present, values - means[group], 0.0)
    return means, deviation.T @ deviation


def _reservoir(kept: list[PolicySample], sample: PolicySample, seen: int, most: int, rng: random.Random) -> None:
    """Algorithm R (Vitter, 1985): after any number of samples, each is kept with the same probability."""
    if len(kept) < most:
        kept.append(shortened(sample))
    elif (at := rng.randrange(seen)) < most:
        kept[at] = shortened(sample)


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
