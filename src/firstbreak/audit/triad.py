"""The diagnostic triad: the reward rises, behaviour shifts, and an independent score does not follow.

Three questions of three kinds of curves, each with its uncertainty:

- the proxy: did the reward rise since it parted from the truth?
- the truth: every independent score there is (gold scores, evaluation, right answers, the part of the reward that checks
  the answer). One that follows clears the run; accused is it only where none follows and at least one fell or stood still.
  A few noisy scores tell little, and of several one follows by chance. So the late samples are asked as well: does what
  they earned go by the truth about them? Where it surely does not, one score that fell outweighs another that follows, and
  one that has followed counts only if it still does since another was left behind; and where the reward did go by the
  truth before, that accuses even beside scores that are too noisy to tell. A reward that never went by the truth, as a
  learned one may, is weak and not gamed.
- the side metrics: which behaviour shifted, since when, and does the reward pay for it? They name the trick. Without them
  a score that stands still is not enough: a policy that samples as well as its greedy answers always were is a good one.

The onset is where the reward parts from the truth, as an interval that reaches down to the measurement before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from firstbreak.audit.scoring import OWN, Agreement, Honesty, Ledger
from firstbreak.audit.shift import Part, Side, widened
from firstbreak.model import Confidence, Evidence, Expected, Finding, Interval, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure
from firstbreak.stats.noise import noise_scale, spread
from firstbreak.stats.normal import z_to_t
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import trajectory
from firstbreak.words import number

MIN_POINTS = 5
EARLY, LATE = 0.2, 0.25  #: parts of a curve that make a level
SURE = 3.0  #: standard errors that count as a difference
FALLEN = 2.33  #: and that count as a fall, 1 % of one tail: it is looked at only where the reward has surely risen
LONG = 30  #: points from which on their correlation can be told; shorter curves are evaluations, which are independent
MATERIAL = 0.05  #: of the truth's own scale: a smaller change is none
#: of what it would gain beside the reward: a truth that may have gained so much is not said to have stayed
FOLLOWS = 0.25
CEILING = 0.95  #: a truth up there cannot follow
#: correlations of reward and truth over samples: from HONEST on the reward is not to blame; an interval that lies below
#: DISHONEST says that less than a quarter of its variance is about the truth
HONEST, DISHONEST = 0.8, 0.5
#: of the reward's gain: a component that brings so much without checking the answer pays for something else
PAYER = 0.25

Course = Literal["fell", "stayed", "follows", "unclear"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Change:
    """The level of a curve before a step and at its end."""

    before: float
    after: float
    error: float  #: standard error of the difference

    @property
    def size(self) -> float:
        """after - before."""
        return self.after - self.before

    @property
    def interval(self) -> Interval:
        """95 % of the difference."""
        return self.size - 1.96 * self.error, self.size + 1.96 * self.error


@dataclass(frozen=True, kw_only=True, eq=False)
class Parting:
    """One independent score beside the reward."""

    truth: Series
    course: Course
    parted: bool  #: whether the gap between the two has visibly grown
    step: float  #: since when the reward goes its own way
    interval: Interval
    proxy: Change
    change: Change  #: of the truth


@dataclass(frozen=True, kw_only=True, eq=False)
class Triad:
    """What the triad rests on, found or not."""

    proxy: Series
    partings: tuple[Parting, ...]
    sides: tuple[Side, ...]
    parts: tuple[Part, ...]
    agreements: tuple[Agreement, ...]

    @property
    def shifted(self) -> list[Side]:
        """The side metrics that shifted, those that are paid for first, then the largest."""
        moved = [side for side in self.sides if side.meaning]
        return sorted(moved, key=lambda side: (not side.paid, -abs(side.effect)))

    @property
    def payer(self) -> Part | None:
        """The component that does not check the answer and brings a large part of the reward's gain."""
        rise = sum(part.gain for part in self.parts)
        others = [p for p in self.parts if not p.checks_answer and p.gain > max(0.0, PAYER * rise)]
        return others[0] if others and any(p.checks_answer for p in self.parts) else None


def part_ways(proxy: Series, truth: Series) -> Parting | None:
    """How an independent score goes on once the reward has left it; None where too little of both was recorded."""
    start, end = max(proxy.steps[0], truth.steps[0]), min(proxy.steps[-1], truth.steps[-1])
    proxy, truth = (_once_a_step(curve.finite.between(start, end)) for curve in (proxy, truth))
    if min(len(proxy), len(truth)) < MIN_POINTS:
        return None
    beside = np.interp(truth.steps, proxy.steps, proxy.values)
    if np.allclose(beside, truth.values):
        return None  # the same number under another name
    gap = replace(truth, values=beside - truth.values)
    left = _left(gap)
    first = float(truth.steps[0])
    step, interval = left or (first, (first, float(truth.steps[-1])))
    change, rise = _change(truth, step), _change(proxy, step)
    return Parting(
        truth=truth,
        parted=left is not None,
        course=_course(truth, change, rise, float(proxy.values.max())),
        step=step,
        interval=widened(truth, interval),
        proxy=rise,
        change=change,
    )


def _left(gap: Series) -> tuple[float, Interval] | None:
    """When the gap began to grow. What the policy finds, it finds slowly: a clear break may come long after the beginning,
    so the interval reaches down to where a tenth of the growth was left behind for good."""
    found = departure(gap)
    if found is None:
        return None
    step, (low, high) = found
    shape = trajectory(gap)
    tenth = first_sustained(gap, lambda values: values > shape.start + 0.1 * shape.gain) if shape.gain > 0 else None
    return (tenth, (tenth, high)) if tenth is not None and tenth < low else (step, (low, high))


def _still_follows(proxy: Series, parting: Parting, step: float) -> bool:
    """Whether a score that has followed does so from a later step on, too."""
    truth = parting.truth
    beside = _once_a_step(proxy.finite.between(truth.steps[0], truth.steps[-1]))
    top = float(beside.values.max())
    return _course(truth, _change(truth, step), _change(beside, step), top) == "follows"


def _once_a_step(curve: Series) -> Series:
    """The mean of the values at each step, so that two curves can be laid side by side."""
    steps, inverse, counts = np.unique(curve.steps, return_inverse=True, return_counts=True)
    return replace(curve, steps=steps, values=np.bincount(inverse, curve.values, len(steps)) / counts)


def _course(truth: Series, change: Change, rise: Change, top: float) -> Course:
    scale = _scale(truth)
    risen, fallen = (max(z_to_t(z, len(truth) - 2) * change.error, MATERIAL * scale) for z in (SURE, FALLEN))
    if change.size > risen or min(change.before, change.after) >= CEILING * scale:
        return "follows"
    shape = trajectory(truth)
    if change.size < -fallen or (shape.lost and shape.drop > MATERIAL * scale):
        return "fell"
    return "stayed" if rise.size > 0 and change.interval[1] < FOLLOWS * _owed(change, rise, top, scale) else "unclear"


def _owed(change: Change, rise: Change, top: float, scale: float) -> float:
    """What the truth would gain if it took as large a part of its room as the reward takes of its own.

    A reward that pays for form is at its top soon, and what it still gains is small; the truth has all its room left.
    """
    if scale != 1.0:
        return scale
    return min(1.0, rise.size / max(top - rise.before, rise.size)) * (1.0 - change.before)


def _scale(truth: Series) -> float:
    """1 for shares; for anything else the range of what was seen."""
    low, high = float(truth.values.min()), float(truth.values.max())
    return 1.0 if low >= 0 and high <= 1 else high - low


def _change(curve: Series, step: float) -> Change:
    """From the level up to a step (the beginning, where nothing is before it) to the level at the end."""
    n = len(curve)
    window = max(2, round(EARLY * n))
    at = max(window, int(np.searchsorted(curve.steps, step, side="right")))
    before, after = curve.values[max(0, at - window) : at], curve.values[-max(2, round(LATE * n)) :]
    noise = noise_scale(curve.values) if n >= LONG else spread(np.diff(curve.values)) / math.sqrt(2)
    error = noise * math.sqrt(1 / len(before) + 1 / len(after))
    return Change(before=float(before.mean()), after=float(after.mean()), error=error)


def examine(
    proxy: Series,
    truths: Sequence[Series],
    sides: Sequence[Side],
    parts: Sequence[Part],
    ledger: Ledger,
) -> tuple[Finding | Expected | NotMeasured | None, Triad]:
    """Whether the reward is being gamed, and everything that this rests on."""
    partings = tuple(p for truth in truths if (p := part_ways(proxy, truth)) is not None)
    triad = Triad(
        proxy=proxy,
        partings=partings,
        sides=tuple(sides),
        parts=tuple(parts),
        agreements=tuple(ledger.agreements()),
    )
    if not partings and (known := ledger.honesty()) is not None and _goes_by_truth(known):
        return None, triad  # the reward is the truth under another name
    if not partings:
        return NotMeasured(_nothing_independent(triad)), triad
    apart = [p for p in partings if p.course != "follows" and p.proxy.size > SURE * p.proxy.error]
    if not apart:
        return None, triad
    fell, told = [p for p in apart if p.course == "fell"], [p for p in apart if p.course != "unclear"]
    first = min(fell or told or apart, key=lambda p: (not p.parted, p.step))
    late, early = ledger.lately(first.step), ledger.honesty(until=first.interval[1])
    cheated = late is not None and late.interval[1] < DISHONEST
    following = [p for p in partings if p.course == "follows"]
    if following and not (cheated and (fell or not any(_still_follows(proxy, p, first.step) for p in following))):
        return None, triad
    lost = cheated and early is not None and late is not None and early.interval[0] > late.interval[1]
    if not told and not lost:
        return None, triad
    if late is not None and _goes_by_truth(late) and not triad.payer:
        return Expected(_honest(first, late)), triad
    if fell or lost or triad.payer or any(side.paid for side in triad.shifted):
        return _finding(triad, first, late), triad
    return None, triad


def _goes_by_truth(honesty: Honesty) -> bool:
    return honesty.source != OWN and honesty.correlation >= HONEST


def _honest(parting: Parting, honesty: Honesty) -> str:
    return (
        f"{parting.truth.name} does not follow the reward, and yet the reward goes by the truth about its own samples "
        f"({_correlated(honesty)}): look at the evaluation and at how narrow the prompts are, not at the reward"
    )


def _correlated(honesty: Honesty) -> str:
    low, high = honesty.interval
    return f"correlation with {honesty.source} {number(honesty.correlation)}, 95 % {number(low)} to {number(high)}"


def _finding(triad: Triad, first: Parting, late: Honesty | None) -> Finding:
    fell = first.course == "fell"
    named = _trick(triad)
    if late is not None and late.interval[1] < HONEST:
        named += f"; among its late samples the reward does not go by the truth ({_correlated(late)})"
    before, after = first.change.before, first.change.after
    if fell and after >= before:  # it rose first: what was lost is what it had at its best
        shape = trajectory(first.truth)
        before, after = shape.best, shape.end
    verb = {"fell": "fell", "stayed": "stayed"}.get(first.course, "is not seen to follow,")
    to = f"at {number(after)}" if first.course == "stayed" else f"from {number(before)} to {number(after)}"
    return Finding(
        message=(
            f"since step {number(first.step)} the reward went from {number(first.proxy.before)} to "
            f"{number(first.proxy.after)} while {first.truth.name} {verb} {to}: {named}; "
            "read and mark its best-rewarded samples (`--mark`) before going on"
        ),
        severity=Severity.CRITICAL if fell else Severity.WARNING,
        confidence=Confidence.HIGH if fell and (triad.payer or triad.shifted) else Confidence.MEDIUM,
        metric=first.truth.name,
        onset=first.step,
        interval=first.interval,
        evidence=(
            Evidence(text="the reward", series=triad.proxy, since=first.step),
            Evidence(text="an independent score", series=first.truth, since=first.step),
            *(Evidence(text=side.meaning, series=_drawn(side), since=side.step) for side in triad.shifted[:2]),
        ),
        facts={
            "payer": triad.payer.name if triad.payer else None,
            "shifted": [side.metric.id for side in triad.shifted],
            "courses": {p.truth.name: p.course for p in triad.partings},
            "honesty": None if late is None else vars(late),
        },
    )


def _trick(triad: Triad) -> str:
    """What is paid for instead, as far as the samples tell."""
    said = []
    if triad.payer:
        said.append(f"the component {triad.payer.name} pays for it ({triad.payer.gain:+.3g})")
    said += [side.meaning + (" (and that is paid)" if side.paid else "") for side in triad.shifted[:2]]
    return ", ".join(said) or "no side metric tells how"


def _drawn(side: Side) -> Series:
    return replace(
        side.series, name=f"samples.{side.metric.id}", raw="", steps=side.curve.steps, values=side.curve.mean
    )


def _nothing_independent(triad: Triad) -> str:
    moved = ", ".join(f"{side.meaning}{' and is paid for it' if side.paid else ''}" for side in triad.shifted[:3])
    return (
        "no independent score is recorded (an evaluation, right answers, gold scores, human marks), so nobody can say whether "
        f"the reward still means what it should{f'; what has shifted: {moved}' if moved else ''}: "
        "mark samples with `--mark`, or log an evaluation"
    )
