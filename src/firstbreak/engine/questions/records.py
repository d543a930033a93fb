"""Questions about what the hooks measured, about levels and settings, and about how a run broke."""

import json
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import numpy as np

from firstbreak.engine.questions.arms import (
    TREATED,
    UNKNOWN,
    Answer,
    Arms,
    Asked,
    Named,
    about,
    curve_of,
    unanswered,
    unnamed,
)
from firstbreak.engine.questions.curves import MIN_POINTS, changed, later_half
from firstbreak.engine.questions.ranks import noise
from firstbreak.engine.stats.points import median
from firstbreak.model import EMPTY, Link, Series
from firstbreak.values import replace
from firstbreak.words import number

START_UP = 0.75  #: growth that slows down by more than this is that of the first steps (convention)
LARGE_RATIO = 2.0  #: ratio that every usual clip range excludes (usual: 0.8 to 1.3)
TAKES_LONGER = frozenset({Link.EVALUATION, Link.SYSTEMS})  #: links whose breaks show in the noise of many points


@about(unnamed)
def is_off(arms: Arms, levels: Mapping[str, float], tolerance: float) -> Answer:
    """Is any signal further than `tolerance` from the level that it must have? One point decides."""
    curves = {name: curve for name in levels if (curve := arms.curve(name)) is not None}
    if not curves:
        return unanswered(f"none of {', '.join(levels)} was recorded")
    distance = {name: float(np.abs(curve.values - levels[name]).max()) for name, curve in curves.items()}
    name = max(distance, key=distance.__getitem__)
    yes = distance[name] > tolerance
    reason = f"{name} differs from {number(levels[name])} by up to {number(distance[name])}"
    return Answer(yes=yes if yes or arms.ended else None, reason=reason, n=len(curves[name]))


def lies_above(name: str, level: float) -> Named:
    """Is the mean of the second half of the treated arm's curve above a level?"""
    return Named(name, lambda arms: _level(arms.curve(name), name, lambda mean: mean > level, arms.ended))


def lies_below(name: str, level: float) -> Named:
    """Is the mean of the second half of the treated arm's curve below a level?"""
    return Named(name, lambda arms: _level(arms.curve(name), name, lambda mean: mean < level, arms.ended))


@about(unnamed)
def lies_apart(arms: Arms, higher: str, lower: str, by: float) -> Answer:
    """In the treated arm, is the mean of the second half of one curve above another curve's by more than `by`?"""
    over, under = arms.curve(higher), arms.curve(lower)
    if over is None or under is None:
        return unanswered(f"{higher} and {lower} were not both recorded")
    gap = float(later_half(over.values).mean() - later_half(under.values).mean())
    reason = f"{higher} minus {lower} is {number(gap)}"
    return Answer(yes=gap > by if arms.ended else None, reason=reason, n=min(len(over), len(under)))


@about(unnamed)
def lies_apart_as_before(arms: Arms, higher: str, lower: str, share: float) -> Answer:
    """Is one curve of the treated arm above another by at least `share` of their distance late in the original run?"""
    over, under = curve_of(arms.original, higher), curve_of(arms.original, lower)
    if over is None or under is None or not len(over.finite) or not len(under.finite):
        return unanswered(f"{higher} and {lower} were not both recorded")
    before = float(later_half(over.finite.values).mean() - later_half(under.finite.values).mean())
    if before <= 0:
        return unanswered(f"{higher} was not above {lower}")
    return lies_apart(higher, lower, share * before)(arms)


def _level(curve: Series | None, name: str, condition: Callable[[float], bool], ended: bool) -> Answer:
    if curve is None:
        return unanswered(f"{name} was not recorded")
    mean = float(later_half(curve.values).mean())
    return Answer(yes=condition(mean) if ended else None, reason=f"{name} is {number(mean)}", n=len(curve))


@about(unnamed)
def unless(arms: Arms, asked: Asked, *others: Asked) -> Answer:
    """The question, but answered with no if another question is answered with yes, which explains the same measurement."""
    answer = asked(arms)
    if answer.yes is not True:
        return answer
    explained = next((also for other in others if (also := other(arms)).yes), None)
    if explained is None:
        return answer
    return replace(answer, yes=False, reason=f"{answer.reason}, but {explained.reason}")


@about(unnamed)
def both(arms: Arms, first: Asked, second: Asked) -> Answer:
    """Are two questions both answered with yes? No if one is answered with no, open if one is open."""
    answers = [first(arms), second(arms)]
    least = min(answers, key=lambda a: (a.yes is not False, a.yes is not None))
    return replace(least, reason="; ".join(a.reason for a in answers))


@about(unnamed)
def was_unsteady(arms: Arms, name: str, factor: float) -> Answer:
    """Was the 80 % quantile of the original run's curve above the 20 % quantile by more than a factor?"""
    original = curve_of(arms.original, name)
    if original is None or len(original.finite) < MIN_POINTS:
        return unanswered(f"the original run records no {name}")
    low, high = np.quantile(original.finite.values, [0.2, 0.8])
    reason = (
        f"{name} of the original run: 20 % of the points below {number(float(low))}, 20 % above {number(float(high))}"
    )
    return Answer(yes=bool(high > factor * low), reason=reason, n=len(original))


@about(unnamed)
def watched(arms: Arms, asks: Callable[[Mapping[str, float]], bool], *names: str) -> Answer:
    """Do the means of the second half of what the hooks measured, by name, satisfy the condition?"""
    seen = {name: later_half(arms.watched(name)) for name in names}
    if missing := [name for name, rows in seen.items() if not len(rows)]:
        return unanswered(f"the hooks measured no {', '.join(missing)}")
    means = {name: float(rows.mean()) for name, rows in seen.items()}
    reason = ", ".join(f"{name}: {number(value)}" for name, value in means.items())
    return Answer(yes=asks(means) if arms.ended else None, reason=reason, n=min(map(len, seen.values())))


@about(unnamed)
def drifts(arms: Arms, name: str, factor: float) -> Answer:
    """Does what the hooks measured change by more than a factor, or change its sign, from the first third to the last?"""
    rows = arms.watched(name)
    if len(rows) < MIN_POINTS:
        return unanswered(f"the hooks measured {name} {len(rows)} times")
    first, last = median(rows[: len(rows) // 3]), median(rows[-(len(rows) // 3) :])
    low, high = sorted((abs(float(first)), abs(float(last))))
    yes = bool(high > factor * low or first * last < 0)
    reason = f"{name} is {number(float(first))} in the first third, {number(float(last))} in the last"
    return Answer(yes=yes if arms.ended else None, reason=reason, n=len(rows))


@about(unnamed)
def grows(arms: Arms, name: str, share: float, parts: int = 4) -> Answer:
    """Does what the hooks measured grow from each part of the second half to the next, and by a share of itself in total?

    Open where the growth slows down: caches and allocators that fill in the first steps do so as well.
    """
    measured = _since_training(arms.rows("watch.jsonl"), name)
    later = later_half(measured)
    if len(later) < parts:
        return unanswered(f"the hooks measured {name} only {len(measured)} times while it trained")
    levels = np.array([part.mean() for part in np.array_split(later, parts)])
    middles = np.array([part.mean() for part in np.array_split(np.arange(len(later)), parts)])
    grown, steps = float(levels[-1] / levels[0] - 1), np.diff(levels) / np.diff(middles)
    yes = bool((steps > 0).all() and grown > share)
    if yes and steps[-1] < START_UP * steps[0]:
        said = f"{name} grows by {number(100 * grown)} %, and ever more slowly, as at a start"
        needed = 2 * len(measured)
        return Answer(yes=None, reason=f"too short to tell: {said}", n=len(later), needed=needed if arms.ended else 0)
    return Answer(yes=yes if arms.ended else None, reason=f"{name} grows by {number(100 * grown)} %", n=len(later))


def _since_training(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """What was measured since the first step of an optimizer. Before it, a process imports its packages, which takes memory."""
    began = next((i for i, row in enumerate(rows) if "optimizer" in row), 0)
    return np.array([row[name] for row in rows[began:] if name in row], dtype=float)


@about(Named)
def slows(arms: Arms, name: str, factor: float) -> Answer:
    """Does a phase of the treated arm take longer in the last third than in the first, by more than a factor?"""
    curve = arms.curve(name)
    if curve is None or len(curve) < MIN_POINTS:
        return unanswered(f"too few points of {name}")
    third = len(curve) // 3
    first, last = (median(part) for part in (curve.values[:third], curve.values[-third:]))
    reason = f"{name} takes {number(first)} s in the first third, {number(last)} s in the last"
    return Answer(yes=last > factor * first if arms.ended else None, reason=reason, n=len(curve))


@about(Named)
def is_set(
    arms: Arms, name: str, *, below: float = -inf, above: float = inf, least: float = inf, off: bool = False
) -> Answer:
    """Is the value of a setting in force below `below`, above `above`, or `least` and more? `off`: the answer where it is off."""
    held = arms.setting(name)
    if held is UNKNOWN:
        return unanswered(f"the value of {name} is not known")
    yes = off if held is None else held < below or held > above or held >= least
    return Answer(yes=yes if arms.ended else None, reason=f"{name} in force: {held}", n=1)


@about(unnamed)
def rate_is(arms: Arms, *, above: float = inf, below: float = -inf, one_below: float = -inf) -> Answer:
    """Is an optimizer's learning rate above, are all below, or is one of several below this share of the configured one?"""
    configured = arms.overrides.get(TREATED, EMPTY).get("learning_rate") or 0.0
    configured *= float(max(arms.watched("schedule"), default=1.0))  # a resumed trial may be far down its schedule
    highest = _highest_rates(arms.rows("watch.jsonl"))
    if not configured or not highest:
        return unanswered("the hooks saw no optimizer, or no learning rate is configured")
    least, largest = min(highest.values()) / configured, max(highest.values()) / configured
    reason = f"the optimizers' learning rates are {number(least)} to {number(largest)} times the configured one"
    yes = largest > above or largest < below or least < one_below <= largest
    return Answer(yes=yes if arms.ended else None, reason=reason, n=len(highest))


def _highest_rates(rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """The highest rate of each optimizer that made a step after the last optimizer appeared: earlier ones only warmed up."""
    highest: dict[int, float] = {}
    known: set[int] = set()
    for row in rows:
        if (number := row.get("optimizer")) is None:
            continue
        if number not in known:
            known.add(number)
            highest.clear()
        highest[number] = max(row["rate"], highest.get(number, 0.0))
    return highest


@about(Named)
def is_not_finite(arms: Arms, name: str) -> Answer:
    """Is any value of the treated arm's curve not a number?"""
    curves = [c.values for run in arms.runs.get(TREATED, ()) if (c := curve_of(run, name)) is not None]
    if not curves:
        return unanswered(f"{name} was not recorded")
    values = np.concatenate(curves)
    broken = int((~np.isfinite(values)).sum())
    reason = f"{broken} of {len(values)} values of {name} are not finite"
    return Answer(yes=bool(broken) if broken or arms.ended else None, reason=reason, n=len(values))


def never_clipped(arms: Arms) -> Answer:
    """Did the original run have ratios far outside every usual clip range while nothing was clipped?"""
    ratio, clipped = (curve_of(arms.original, name) for name in ("policy_ratio_max", "policy_clip_fraction"))
    if ratio is None or clipped is None or len(clipped.finite) < MIN_POINTS:
        return unanswered("the original run records no largest ratio, or no clip fraction")
    apart = ratio.finite.values > LARGE_RATIO
    share = np.interp(ratio.finite.steps, clipped.finite.steps, clipped.finite.values)[apart]
    free = int((share == 0).sum())
    reason = f"{free} of {int(apart.sum())} updates with ratios above {number(LARGE_RATIO)} clipped nothing"
    return Answer(yes=free >= MIN_POINTS and free > len(share) / 2, reason=reason, n=len(apart))


def toy_rises(arms: Arms) -> Answer:
    """Does the toy reward rise? Trainers of language models log it as the reward; elsewhere the hooks measure it."""
    rows = arms.watched("toy")
    seen = Series(name="toy", steps=np.arange(len(rows), dtype=float), values=rows)
    return changed(seen if len(rows) else arms.curve("reward_mean"), "the toy reward", 1, arms.ended)


@about(Named)
def spreads_as_the_original_moves(arms: Arms, name: str) -> Answer:
    """Do evaluations of the same weights differ as much as neighbouring points of the original run's curve?"""
    curve, original = arms.curve(name), curve_of(arms.original, name)
    if curve is None or original is None or len(curve) < MIN_POINTS or len(original.finite) < MIN_POINTS:
        return unanswered(f"too few points of {name}")
    here = float(np.std(curve.values, ddof=1))
    there = noise(original.finite)
    reason = f"{name} varies by {number(here)} with the same weights, by {number(there)} between neighbours of the run"
    return Answer(yes=here > 0.5 * there if arms.ended else None, reason=reason, n=len(curve))


@about(unnamed)
def weights_differ(arms: Arms, side: str) -> Answer:
    """Do the trainer and another side ("engine", "evaluation") hold different weights (or adapters) at the same step?"""
    rows = arms.rows("weights.jsonl")
    sides = {(row["side"], row["step"]): row for row in rows}
    pairs = [(row, sides.get((side, step))) for (whose, step), row in sides.items() if whose == "trainer"]
    both = [(trainer, other) for trainer, other in pairs if other is not None]
    if not both:
        return unanswered(f"no weights of trainer and {side} were recorded; see record_weights")
    apart = [t["step"] for t, e in both if t["hashes"] != e["hashes"] or t["adapters"] != e["adapters"]]
    if not apart and len({json.dumps(trainer["hashes"]) for trainer, _ in both}) == 1 < len(both):
        return unanswered(f"the trainer's weights never changed, so a comparison with {side} proves nothing")
    reason = f"the weights differ at {len(apart)} of {len(both)} steps" + (
        f", first at step {apart[0]}" if apart else ""
    )
    return Answer(yes=bool(apart) if apart or arms.ended else None, reason=reason, n=len(both))


def breaks_again(arms: Arms) -> Answer:
    """Does the treated arm break in the same link as the original run? Open where a short arm may be too short for that."""
    if not arms.ended:
        return unanswered("still running")
    if arms.first_break is None:
        return unanswered("the runs were not diagnosed")
    before = arms.first_break(arms.original)
    after = [arms.first_break(run) for run in arms.runs.get(TREATED, ())]
    if before is None or not after:
        return unanswered("the original run shows no first break")
    again = [b for b in after if b is not None and b.link is before.link]
    yes, reason = len(again) > len(after) / 2, f"{len(again)} of {len(after)} break at {before.link.value}"
    if not yes and before.link in TAKES_LONGER:
        return unanswered(f"{reason}; a break of this link needs more points to show")
    return Answer(yes=yes, reason=reason, n=len(after))
