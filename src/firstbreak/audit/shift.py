"""Which behaviour has shifted: each side metric over the steps, and whether the shift is rewarded."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.audit.metrics import Metric, metrics
from firstbreak.audit.split_truth import PolicySample
from firstbreak.audit.table import COUNT, GROUPS, LARGEST, OWN, WITH_REWARD, MeanCurve, SampleTable, StepSums
from firstbreak.engine.checks import graded, seen_as
from firstbreak.engine.stats.direction import departure
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.normal import quantile
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.shape import trajectory
from firstbreak.engine.stats.trend import trend
from firstbreak.model import EMPTY, Confidence, Finding, Interval, Series, Severity
from firstbreak.values import dataclass, replace

MATERIAL = 0.5  #: standard deviations of the first samples; smaller shifts are ignored
REWARDED = 0.1  #: smallest correlation with the reward within groups that counts
SURE = 0.99


def over_steps(name: str, points: Iterable[tuple[float, float]]) -> Series:
    """A curve of something in samples, from its value at each step."""
    steps, values = zip(*points, strict=True)
    return Series(name=f"samples.{name}", steps=np.array(steps), values=np.array(values, dtype=float))


@dataclass(frozen=True, kw_only=True)
class Correlation:
    """The correlation of the reward with a side metric, among comparable samples."""

    r: float
    interval: Interval  #: 95 %
    n: int  #: degrees of freedom

    @property
    def direction(self) -> int:
        """1: higher values are rewarded; -1: lower values are rewarded; 0: neither is shown."""
        low, high = self.interval
        return 1 if low > 0 and self.r >= REWARDED else -1 if high < 0 and self.r <= -REWARDED else 0

    @property
    def sure(self) -> float:
        """The end of the interval that is nearer to zero, without its sign; negative where zero lies inside."""
        return max(self.interval[0], -self.interval[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class SideMetric:
    """One side metric over the run."""

    metric: Metric
    curve: MeanCurve
    series: Series  #: the points that were used for change detection
    early: float  #: mean of the first quarter of the steps
    late: float  #: mean of the last quarter
    effect: float  #: late - early, in standard deviations of a sample
    shifted: int  #: 1 up, -1 down, 0: not beyond noise, or too little to matter
    step: float | None  #: the shift began at this step
    interval: Interval | None
    in_group: Correlation | None = None  #: with the reward, within groups (or steps, where each prompt has one sample)
    same_answer: Correlation | None = None  #: with the reward, among samples of a group with the same final answer

    @property
    def meaning(self) -> str:
        """The meaning of the shift, in words. Empty where it has no meaning."""
        return self.metric.up if self.shifted > 0 else self.metric.down if self.shifted < 0 else ""

    def finding(
        self, says: str, severity: Severity = Severity.WARNING, confidence: Confidence = Confidence.HIGH, **numbers: Any
    ) -> Finding:
        """What was found of this metric, since its shift."""
        numbers = {"early": self.early, "late": self.late, **numbers}
        seen = seen_as(f"samples.{self.metric.id}", self.step, self.interval)
        return graded(severity, says, seen, confidence=confidence, numbers=numbers)

    @property
    def rewarded(self) -> bool:
        """Whether the metric shifts in the direction that is rewarded."""
        return self.shifted != 0 and self.in_group is not None and self.in_group.direction == self.shifted


def sides(table: SampleTable, logged: Mapping[str, Series] = EMPTY) -> list[SideMetric]:
    """Every side metric that applies to the dump, by name.

    `logged`: the curves of metrics in the run's log. A log covers every step; a dump may hold few samples of some steps.
    """
    streamed = [_streamed(table, m, logged.get(m.id)) for m in metrics().values() if m.measure]
    found = [*streamed, *_compared(table)]
    return sorted((side for side in found if side is not None), key=lambda side: side.metric.id)


def _streamed(table: SampleTable, metric: Metric, logged: Series | None) -> SideMetric | None:
    curve = table.curve(metric.id)
    if not len(curve.steps):
        return None
    series = table.series(metric.id)
    if logged is not None and len(logged) > len(series):
        series = logged
    j = table.columns.index(metric.id)
    sums = [row.sums[:GROUPS, j] for _, row in table.rows if row.sums[COUNT, j]]
    side = _side(metric, curve, series, sums)
    # A rewarded behaviour correlates with the reward while the policy finds it, so the correlation uses later samples only.
    rows = [row for _, row in table.rows]
    since = [row for step, row in table.rows if side.step is None or step >= side.step]
    return replace(
        side,
        in_group=_in_group(since, j, table.sides) or _in_group(rows, j, table.sides),
        same_answer=_same_answer(since, j, table.sides) or _same_answer(rows, j, table.sides),
    )


def _in_group(rows: Sequence[StepSums], j: int, reward: int) -> Correlation | None:
    freedom = sum(float(row.sums[COUNT, j] - row.sums[GROUPS, j]) for row in rows)
    return _correlation([row.within for row in rows], j, reward, freedom)


def _same_answer(rows: Sequence[StepSums], j: int, reward: int) -> Correlation | None:
    return _correlation([row.alike for row in rows], j, reward, sum(row.freedom for row in rows))


def _compared(table: SampleTable) -> Iterable[SideMetric | None]:
    """The metrics that use only kept samples, and compare them with the samples of the first steps."""
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


def _from_values(metric: Metric, values: list[tuple[float, np.ndarray]]) -> SideMetric | None:
    if not values:
        return None
    finite = [(step, v[np.isfinite(v)]) for step, v in values]
    mean = np.array([v.mean() for _, v in finite])
    # A metric of pairs depends on both samples of each pair (Hoeffding, 1948), and the halves of a step are not independent.
    error = (2 if metric.among else 1) * np.array([v.std() / math.sqrt(max(1, len(v) - 1)) for _, v in finite])
    steps = np.array([step for step, _ in finite])
    curve = MeanCurve(steps=steps, mean=mean, low=mean - 1.96 * error, high=mean + 1.96 * error)
    points = 1 if metric.among else 2
    halves = [(step, half.mean()) for step, v in finite for half in np.array_split(v, points) if len(half)]
    series = over_steps(metric.id, halves)
    sums = [np.array([len(v), v.sum(), (v**2).sum()]) for _, v in finite]
    return _side(metric, curve, series, sums)


def _side(metric: Metric, curve: MeanCurve, series: Series, sums: Sequence[np.ndarray]) -> SideMetric:
    """`sums`: for each step the number of values, their sum and the sum of their squares."""
    part = max(1, len(sums) // 4)
    early, sd_early = _moments(sums[:part])
    late, sd_late = _moments(sums[-part:])
    spread = sd_early or sd_late or _moments(sums)[1]  # a change from none to all is a shift as well
    effect = (late - early) / spread if spread else 0.0
    if not effect and not series.name.startswith("samples."):  # the samples do not show what the log measures
        early, late = (float(part.values.mean()) for part in (series.head(0.25), series.tail(0.25)))
        effect = (late - early) / max(noise_scale(series.values), 0.1 * abs(early), 1e-9)
    direction = int(np.sign(effect)) if abs(effect) >= MATERIAL else 0
    since = _since(series, direction) if direction else None
    return SideMetric(
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
    """When the shift began. A shift is a break, a sure trend, or a lasting change of level. Else None."""
    upward = replace(series, values=direction * series.values)
    broke = onset(upward, 1, ("level", "ramp")) is not None
    if not broke and trend(upward, SURE).direction <= 0 and trajectory(upward).kind not in ("rising", "plateau"):
        return None
    left = departure(series, direction) or (float(series.steps[0]), (float(series.steps[0]), float(series.steps[-1])))
    return left[0], widened(series, left[1])


def widened(series: Series, interval: Interval) -> Interval:
    """The interval, extended down to the point before it: the change may have begun at any step after that point."""
    before = series.steps[series.steps < interval[0]]
    return (float(before[-1]) + 1 if len(before) else interval[0], interval[1])


def _moments(sums: Sequence[np.ndarray]) -> tuple[float, float]:
    count, total, square = np.sum(sums, axis=0)
    mean = float(total / count)
    spread = math.sqrt(max(0.0, float(square / count) - mean**2))
    return mean, spread if spread > 1e-9 * abs(mean) else 0.0


def _correlation(products: Sequence[np.ndarray], j: int, reward: int, n: float) -> Correlation | None:
    """From the products of deviations, with `n` degrees of freedom. None where one of the two does not vary."""
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
class RewardComponent:
    """One component of the reward."""

    name: str
    weight: float  #: weight in the reward of the last steps; NaN where the component is zero in all of them
    gain: float  #: contribution to the reward at the end minus the contribution at the beginning
    checks_answer: bool


def parts(table: SampleTable, curves: Mapping[str, Series], is_answer: Container[str]) -> list[RewardComponent]:
    """The contribution of each component to the gain of the reward, the largest first. Empty where they do not add up.

    `curves`: the mean of each component over the steps. The weights are fitted to the rewards of the kept samples (least
    squares without a constant), at the beginning and at the end.
    """
    names = [name for name in table.parts if name in curves and len(curves[name])]
    if not names:
        return []
    parts = [[s for _, row in rows for s in row.kept if s.reward is not None] for rows in (table.early(), table.late())]
    early, late = (_weights(samples, names) for samples in parts)
    if early is None or late is None:
        return []
    first = np.array([curves[name].head(0.25).values.mean() for name in names])
    last = np.array([curves[name].tail(0.25).values.mean() for name in names])
    gains = late * last - early * first
    found = [
        RewardComponent(name=n, weight=float(w) if mean else math.nan, gain=float(gain), checks_answer=n in is_answer)
        for n, w, mean, gain in zip(names, late, last, gains, strict=True)
    ]
    return sorted(found, key=lambda part: -part.gain)


def _weights(samples: Sequence[PolicySample], names: Sequence[str]) -> np.ndarray | None:
    """The weights of the components, (parts,). None where the reward is not their weighted sum."""
    if not samples:
        return None
    x = np.array([[sample.rewards.get(name, 0.0) for name in names] for sample in samples])
    y = np.array([sample.reward for sample in samples], dtype=float)
    if not (np.abs(x) < LARGEST).all() or not (np.abs(y) < LARGEST).all():
        return None
    weights: np.ndarray = np.linalg.lstsq(x, y, rcond=1e-6)[0]
    left_over = float(np.sum((y - x @ weights) ** 2))
    return weights if left_over <= 0.05 * float(np.sum(y**2)) + 1e-12 else None
