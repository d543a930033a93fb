"""What has shifted: each side metric over the steps, and whether the reward pays for it."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics import Metric, metrics
from firstbreak.audit.table import COUNT, GROUPS, LARGEST, OWN, WITH_REWARD, Curve, Row, Table
from firstbreak.model import EMPTY, Interval, Series
from firstbreak.stats.direction import departure
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.normal import quantile
from firstbreak.stats.onset import onset
from firstbreak.stats.shape import trajectory
from firstbreak.stats.trend import trend

MATERIAL = 0.5  #: standard deviations of the first samples: a smaller shift is not looked at, however sure it is
PAID = 0.1  #: correlation with the reward within groups: below it, hardly any of the reward goes by the metric
SURE = 0.99


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """Of the reward with a side metric, among samples that can be compared."""

    r: float
    interval: Interval  #: 95 %
    n: int  #: degrees of freedom

    @property
    def paid(self) -> int:
        """1: more of it earns more; -1: less of it does; 0: not shown."""
        low, high = self.interval
        return 1 if low > 0 and self.r >= PAID else -1 if high < 0 and self.r <= -PAID else 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One side metric over the run."""

    metric: Metric
    curve: Curve
    series: Series  #: the points that were looked at for a change
    early: float  #: mean of the first quarter of the steps
    late: float  #: and of the last
    effect: float  #: late - early, in standard deviations of a sample
    shifted: int  #: 1 up, -1 down, 0: not beyond noise, or too little to matter
    step: float | None  #: since when
    interval: Interval | None
    in_group: Correlation | None = None  #: with the reward, within groups (or steps, where each prompt has one sample)
    same_answer: Correlation | None = None  #: with the reward, among those of a group that give the same final answer

    @property
    def meaning(self) -> str:
        """What the shift means in words; empty where it means nothing."""
        return self.metric.up if self.shifted > 0 else self.metric.down if self.shifted < 0 else ""

    @property
    def paid(self) -> bool:
        """It moves the way in which more is earned."""
        return self.shifted != 0 and self.in_group is not None and self.in_group.paid == self.shifted


def sides(table: Table, logged: Mapping[str, Series] = EMPTY) -> list[Side]:
    """Every side metric that applies to the dump, those of all samples and those of the kept ones, by name.

    `logged`: what the run's own log says of a metric. It covers every step, where a dump may hold a few samples of some.
    """
    streamed = [_streamed(table, m, logged.get(m.id)) for m in metrics().values() if m.measure]
    found = [*streamed, *_compared(table)]
    return sorted((side for side in found if side is not None), key=lambda side: side.metric.id)


def _streamed(table: Table, metric: Metric, logged: Series | None) -> Side | None:
    curve = table.curve(metric.id)
    if not len(curve.steps):
        return None
    series = table.series(metric.id)
    if logged is not None and len(logged) > len(series):
        series = logged
    j = table.columns.index(metric.id)
    sums = [row.sums[:GROUPS, j] for _, row in table.rows if row.sums[COUNT, j]]
    side = _side(metric, curve, series, sums)
    # What is paid for shows while the policy finds it; from then on, and not before, is where to look.
    rows = [row for _, row in table.rows]
    since = [row for step, row in table.rows if side.step is None or step >= side.step]
    return replace(
        side,
        in_group=_in_group(since, j, table.sides) or _in_group(rows, j, table.sides),
        same_answer=_same_answer(since, j, table.sides) or _same_answer(rows, j, table.sides),
    )


def _in_group(rows: Sequence[Row], j: int, reward: int) -> Correlation | None:
    freedom = sum(float(row.sums[COUNT, j] - row.sums[GROUPS, j]) for row in rows)
    return _correlation([row.within for row in rows], j, reward, freedom)


def _same_answer(rows: Sequence[Row], j: int, reward: int) -> Correlation | None:
    return _correlation([row.alike for row in rows], j, reward, sum(row.freedom for row in rows))


def _compared(table: Table) -> Iterable[Side | None]:
    """The metrics that are asked only of kept samples, against those of the first steps."""
    baseline = table.baseline()
    kept = [(step, row.kept) for step, row in table.rows if row.kept]
    for metric in metrics().values():
        if metric.measure is None:
            values = [(step, np.array(found, dtype=float)) for step, found in _kept_values(metric, baseline, kept)]
            yield _from_values(metric, [(step, v) for step, v in values if np.isfinite(v).any()])


def _kept_values(
    metric: Metric, baseline: Sequence[PolicySample], kept: Sequence[tuple[float, Sequence[PolicySample]]]
) -> Iterator[tuple[float, Sequence[float]]]:
    if metric.among is not None:
        yield from ((step, metric.among(samples)) for step, samples in kept)
    if metric.against is not None:
        measure = metric.against(baseline)
        yield from ((step, [measure(sample) for sample in samples]) for step, samples in kept)


def _from_values(metric: Metric, values: list[tuple[float, np.ndarray]]) -> Side | None:
    if not values:
        return None
    finite = [(step, v[np.isfinite(v)]) for step, v in values]
    mean = np.array([v.mean() for _, v in finite])
    # A value that is about pairs moves with both samples of each (Hoeffding, 1948), and halves of a step move together.
    error = (2 if metric.among else 1) * np.array([v.std() / math.sqrt(max(1, len(v) - 1)) for _, v in finite])
    steps = np.array([step for step, _ in finite])
    curve = Curve(steps=steps, mean=mean, low=mean - 1.96 * error, high=mean + 1.96 * error)
    points = 1 if metric.among else 2
    halves = [(step, half.mean()) for step, v in finite for half in np.array_split(v, points) if len(half)]
    series = Series(
        name=f"samples.{metric.id}",
        steps=np.array([step for step, _ in halves]),
        values=np.array([value for _, value in halves]),
    )
    sums = [np.array([len(v), v.sum(), (v**2).sum()]) for _, v in finite]
    return _side(metric, curve, series, sums)


def _side(metric: Metric, curve: Curve, series: Series, sums: Sequence[np.ndarray]) -> Side:
    """`sums`: of each step the number of values, their sum and the sum of their squares."""
    part = max(1, len(sums) // 4)
    early, sd_early = _moments(sums[:part])
    late, sd_late = _moments(sums[-part:])
    spread = sd_early or sd_late or _moments(sums)[1]  # from none at all to all of them is a shift too
    effect = (late - early) / spread if spread else 0.0
    if not effect and not series.name.startswith("samples."):  # the samples do not show what the log counts
        early, late = (float(part.values.mean()) for part in (series.head(0.25), series.tail(0.25)))
        effect = (late - early) / max(noise_scale(series.values), 0.1 * abs(early), 1e-9)
    direction = int(np.sign(effect)) if abs(effect) >= MATERIAL else 0
    since = _since(series, direction) if direction else None
    return Side(
        metric=metric,
        curve=curve,
        series=series,
        early=early,
        late=late,
        effect=effect,
        shifted=direction if since else 0,
        step=since[0] if since else None,
        interval=since[1] if since else None,
    )


def _since(series: Series, direction: int) -> tuple[float, Interval] | None:
    """When the shift began, where it is one: a break, a trend beyond doubt, or a level that was left and kept."""
    upward = replace(series, values=direction * series.values)
    broke = onset(upward, 1, ("level", "ramp")) is not None
    if not broke and trend(upward, SURE).direction <= 0 and trajectory(upward).kind not in ("rising", "plateau"):
        return None
    left = departure(series, direction) or (float(series.steps[0]), (float(series.steps[0]), float(series.steps[-1])))
    return left[0], widened(series, left[1])


def widened(series: Series, interval: Interval) -> Interval:
    """The interval down to the point before it: what shows first in one dump began at any time since the one before."""
    before = series.steps[series.steps < interval[0]]
    return (float(before[-1]) + 1 if len(before) else interval[0], interval[1])


def _moments(sums: Sequence[np.ndarray]) -> tuple[float, float]:
    count, total, square = np.sum(sums, axis=0)
    mean = float(total / count)
    spread = math.sqrt(max(0.0, float(square / count) - mean**2))
    return mean, spread if spread > 1e-9 * abs(mean) else 0.0


def _correlation(products: Sequence[np.ndarray], j: int, reward: int, n: float) -> Correlation | None:
    """From the products of deviations of some rows, with `n` degrees of freedom; None where either does not vary."""
    if n < 8:
        return None
    total = np.sum(products, axis=0)
    power = float(total[OWN, j] * total[OWN, reward])
    if power <= 1e-18:
        return None
    r = max(-1.0, min(1.0, float(total[WITH_REWARD, j]) / math.sqrt(power)))
    z, reach = math.atanh(max(-0.999999, min(0.999999, r))), quantile(0.975) / math.sqrt(n - 3)
    return Correlation(r=r, interval=(math.tanh(z - reach), math.tanh(z + reach)), n=int(n))


@dataclass(frozen=True, kw_only=True)
class Part:
    """One component of the reward."""

    name: str
    weight: float  #: in the reward of the last steps; NaN where it is zero in all of them
    gain: float  #: what it adds to the reward now, less what it added at first
    checks_answer: bool


def parts(table: Table, curves: Mapping[str, Series], is_answer: Container[str]) -> list[Part]:
    """What each component has added to the gain of the reward, the largest first; none where they do not add up to it.

    `curves`: the mean of each component over the steps. The weights are those with which the components of the kept samples
    make their rewards (least squares without a constant), at the beginning and at the end.
    """
    names = [name for name in table.parts if name in curves and len(curves[name])]
    if not names:
        return []
    early, late = (_weights(_kept(rows), names) for rows in (table.early(), table.late()))
    if early is None or late is None:
        return []
    first = np.array([curves[name].head(0.25).values.mean() for name in names])
    last = np.array([curves[name].tail(0.25).values.mean() for name in names])
    gains = late * last - early * first
    found = [
        Part(name=name, weight=float(weight) if mean else math.nan, gain=float(gain), checks_answer=name in is_answer)
        for name, weight, mean, gain in zip(names, late, last, gains, strict=True)
    ]
    return sorted(found, key=lambda part: -part.gain)


def _kept(rows: Iterable[tuple[float, Row]]) -> list[PolicySample]:
    return [sample for _, row in rows for sample in row.kept if sample.reward is not None]


def _weights(samples: Sequence[PolicySample], names: Sequence[str]) -> np.ndarray | None:
    """Of the components, (parts,); None where the reward is not their weighted sum."""
    if not samples:
        return None
    x = np.array([[sample.rewards.get(name, 0.0) for name in names] for sample in samples])
    y = np.array([sample.reward for sample in samples], dtype=float)
    if not (np.abs(x) < LARGEST).all() or not (np.abs(y) < LARGEST).all():
        return None
    weights: np.ndarray = np.linalg.lstsq(x, y, rcond=1e-6)[0]
    left_over = float(np.sum((y - x @ weights) ** 2))
    return weights if left_over <= 0.05 * float(np.sum(y**2)) + 1e-12 else None
