"""How long a step takes, one phase as a share of a step, and whether that phase takes over."""

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import graded, seen_since
from firstbreak.engine.stats.changes import changes, departed, settled
from firstbreak.engine.stats.points import distinct
from firstbreak.engine.stats.spikes import rhythm
from firstbreak.model import Confidence, Finding, Interval, NotMeasured, Series, Severity
from firstbreak.values import dataclass, replace
from firstbreak.words import percent

#: what a step is made of, where only its parts are logged
PHASES = ("rollout", "train", "train_critic", "update_weights", "wait_batch", "reward", "eval", "save")


@dataclass(frozen=True)
class Share:
    """A share at the end of the run beside its own past."""

    before: float  #: before it grew; now, where it did not
    now: float  #: at the end
    grown: bool
    confidence: Confidence = Confidence.MEDIUM
    onset: float | None = None
    interval: Interval | None = None


def step_time(time: Mapping[str, Series] | None) -> Series | None:
    """The time of a step (of an iteration, where there is none) in seconds, or the sum of its logged phases."""
    times = {name: p for name, s in (time or {}).items() if len(p := _positive(s))}
    whole = times.get("step", times.get("iteration"))
    if whole is not None:
        return whole
    parts = [times[phase] for phase in PHASES if phase in times]
    if len(parts) < 2:
        return None
    longest = max(parts, key=len)
    steps = distinct(longest.steps)
    total = np.zeros(len(steps))
    for part in parts:  # a phase that a step lacks (an evaluation) took no time in it
        _, i, j = np.intersect1d(steps, part.steps, return_indices=True)
        total[i] += part.values[j]
    return replace(longest, name="time.step", raw="", steps=steps, values=total, note="sum of the logged phases")


def by_rounds(seconds: Series) -> Series:
    """The mean time of a step over each whole round, where slow steps come back: one rollout serves several updates."""
    beat = rhythm(seconds.values)
    if beat is None:
        return seconds
    rounds = len(seconds) // beat.every
    means = seconds.values[: rounds * beat.every].reshape(rounds, beat.every).mean(axis=1)
    return replace(seconds, steps=seconds.steps[: rounds * beat.every : beat.every], values=means)


def times_as_large(curve: Series, at: np.ndarray) -> float:
    """How many times as large a curve of finite values is at these steps as at the others; 0 where either is unknown."""
    here = np.isin(curve.steps, at)
    if not here.any() or here.all():
        return 0.0
    return float(np.median(curve.values[here]) / np.median(curve.values[~here]))


def _positive(time: Series) -> Series:
    keep = np.isfinite(time.values) & (time.values > 0)
    return replace(time, steps=time.steps[keep], values=time.values[keep])


def share(part: Series, whole: Series) -> Series:
    """part / whole at the steps that both have, where the whole is above 0; in [0, 1] unless phases overlap."""
    a, b = part.finite, whole.finite
    _, i, j = np.intersect1d(a.steps, b.steps, return_indices=True)
    i, j = i[b.values[j] > 0], j[b.values[j] > 0]
    return replace(part, name=f"{part.name} share", steps=a.steps[i], values=a.values[i] / b.values[j])


def against_past(shares: Series, min_increase: float, max_p_value: float) -> Share:
    """The share now, and whether it has grown by `min_increase` or more, beyond its noise."""
    up = (c for c in changes(shares, kinds=("level", "slope"), families=("constant",)) if c.direction > 0)
    began = next((c for c in up if c.lasting), None) or departed(shares)
    before, now = settled(shares, np.inf if began is None else began.step), settled(shares)
    if began is None or now - before < min_increase:
        return Share(before, now, grown=False)
    sure = Confidence.HIGH if began.p < max_p_value else Confidence.MEDIUM
    return Share(before, now, True, sure, began.step, began.interval)


def takes_over(
    shares: Series,
    says: str,
    too_long: str,
    *,
    metric: str,
    verb: str = "takes",
    counted: str = "steps with both times",
    high_alone: Severity = Severity.NOTICE,
    high: float,
    min_increase: float,
    max_p_value: float,
    min_points: int,
) -> Finding | NotMeasured | None:
    """The finding that a phase has grown by `min_increase` of a step, or takes `high` of it and more.

    `says` holds `{taken}`: what the phase takes of a step, after its `verb`. `too_long`: why a share above 1 is none.
    `high_alone`: how severe it is where it has not grown.
    """
    if len(shares) < min_points:
        return NotMeasured(f"{len(shares)} {counted} are too few (needs {min_points})")
    level = against_past(shares, min_increase, max_p_value)
    if level.now > 1:
        return NotMeasured(too_long)
    if not level.grown and level.now < high:
        return None
    now = f"{percent(level.now)} of a step"
    return graded(
        Severity.WARNING if level.grown else high_alone,
        says.format(taken=f"grew from {percent(level.before)} to {now}" if level.grown else f"{verb} {now}"),
        seen_since(shares, now, level.onset, level.interval, metric=metric, level=level.before),
        confidence=level.confidence,
        numbers={"before": level.before, "now": level.now},
    )
