"""What an experiment may ask of its arms. Each builder returns a function from the arms to an answer.

An answer is yes where the arms show it beyond chance, also in a run that has not ended; no where the arms have ended (or show
the opposite) and do not show it; and open where nothing could be measured. So "no" means "measured and not seen", as with a
detector that finds nothing, and P(yes | cause) says what a "no" is worth.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.diagnosis.families import EVERY, Families
from firstbreak.diagnosis.inputs import DERIVED, Inputs
from firstbreak.diagnosis.stats.normal import t_to_z, two_sided
from firstbreak.diagnosis.stats.sequential import ALPHA, Decided, Decision, decide
from firstbreak.dialects import signals
from firstbreak.model import EMPTY, FirstBreak, Interval, Link, Run, Series
from firstbreak.words import number

TREATED, CONTROL = "treated", "control"
UNKNOWN = object()  #: a setting that the run does not show (None: the run shows that the setting is off)
MIN_POINTS = 6  #: points of a curve: with fewer, a question is open (convention)
FIRST_TEST = 8  #: points at the first test; each further test comes at twice as many (convention)
MIN_RANKS = 5  #: signed ranks: fewer all have one sign by chance too often (1 in 16)
MIN_GAIN = 0.05  #: share of the control's level: a fix of the cause gains more (convention)
EACH_SIDE = 3  #: points before and after a jump (convention)
COLLAPSED = 3.0  #: standard deviations of single points below the original (convention)
LARGE_RATIO = 2.0  #: ratio that every usual clip range excludes (usual: 0.8 to 1.3)
TAKES_LONGER = frozenset({Link.EVALUATION, Link.SYSTEMS})  #: links whose breaks show in the noise of many points
MIN_PROBABILITY = 0.02  #: a declared probability counts as at least this, and as at most 1 minus this (convention)
MIN_CHANGE = 0.02  #: share of the curve's largest value: smaller changes do not count (convention)


@dataclass(frozen=True)
class Arms:
    """What came of an experiment so far."""

    runs: Mapping[str, Sequence[Run]]  #: arm -> one run for each seed
    folders: Mapping[str, Sequence[Path]]  #: arm -> the trials' folders
    original: Run  #: the run that is to be explained
    ended: bool = True  #: whether all trials have ended
    overrides: Mapping[str, Mapping[str, Any]] = field(
        default_factory=lambda: EMPTY
    )  #: arm -> the options of its trainer
    first_break: Callable[[Run], FirstBreak | None] | None = None  #: the first break that a diagnosis of a run names
    since: float = -math.inf  #: the step of the break: before it, arms that start from a checkpoint cannot differ

    def curve(self, name: str, arm: str = TREATED) -> Series | None:
        """A signal (`kl_ref`) or derived input (`score`) of an arm: the mean over its seeds; None where it was not recorded."""
        curves = [
            c.finite for run in self.runs.get(arm, ()) if (c := curve_of(run, name)) is not None and len(c.finite)
        ]
        if not curves:
            return None
        steps = min(curves, key=len).steps
        values = np.mean([np.interp(steps, c.steps, c.values) for c in curves], axis=0)
        return replace(curves[0], steps=steps, values=values)

    def watched(self, name: str, arm: str = TREATED) -> np.ndarray:
        """What the hooks measured in each batch, shape (n,); empty where they measured nothing."""
        return np.array([row[name] for row in self.rows("watch.jsonl", arm) if name in row], dtype=float)

    def rows(self, file: str, arm: str = TREATED) -> list[dict[str, Any]]:
        """The rows that the hooks wrote into a file of the arm's trials."""
        return [json.loads(line) for folder in self.folders.get(arm, ()) for line in _lines(folder / file)]

    def setting(self, name: str) -> Any:
        """A setting of the treated arm: the last value that the hooks recorded, else the override, else the original run's;
        `UNKNOWN` where there is none of these."""
        seen = [row[name] for row in self.rows("settings.jsonl") if name in row]
        if seen:
            return seen[-1]
        override = self.overrides.get(TREATED, EMPTY).get(name)
        value = self.original.config.number(name) if override is None else override
        return UNKNOWN if value is None else value


def _lines(path: Path) -> list[str]:
    """Whole lines only: the last one may be incomplete."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith("\n")]


def curve_of(run: Run, name: str) -> Series | None:
    """A signal (`kl_ref`) or derived input (`score`) of a run."""
    found = Inputs(run).ask(name)
    return found if isinstance(found, Series) else None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Yes, no, or open (None), with the reason."""

    yes: bool | None
    reason: str
    interval: Interval | None = None
    n: int = 0  #: points that were tested


Asked = Callable[[Arms], Answer]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and the probability of "yes" under each cause."""

    asks: str
    answer: Asked
    needs: str = ""  #: signal or derived input, "hooks" or "weights": without it the question is open
    families: Families = EVERY  #: for which runs it makes sense, if fewer than the experiment
    yes: Mapping[str, float] = field(default_factory=lambda: EMPTY)  #: cause, or "healthy" -> P(yes)
    otherwise: float = 0.5  #: P(yes) for every other candidate
    #: candidate -> (answers "yes", runs) in the lab
    counted: Mapping[str, tuple[int, int]] = field(default_factory=lambda: EMPTY)

    @property
    def measure(self) -> str:
        """The signal that answers it, or the derived input in words; empty where hooks measure it."""
        signal = signals.BY_PARAMETER.get(self.needs)
        return signal.name if signal else self.needs.replace("_", " ") if self.needs in DERIVED else ""

    def weights(self, cause: str) -> dict[str, float]:
        """Answer -> weight for a cause against its rivals, in nats, from the declared probabilities."""
        under, others = (
            min(max(p, MIN_PROBABILITY), 1 - MIN_PROBABILITY)
            for p in (self.yes.get(cause, self.otherwise), self.otherwise)
        )
        return {"yes": math.log(under / others), "no": math.log((1 - under) / (1 - others))}


def rises(name: str) -> Asked:
    """Does the treated arm's curve rise, from its first half to its second?"""
    return lambda arms: _changed(arms.curve(name), name, 1, arms.ended)


def falls(name: str) -> Asked:
    """Does the treated arm's curve fall?"""
    return lambda arms: _changed(arms.curve(name), name, -1, arms.ended)


def outruns(name: str, sign: int = 1, by: float = 0.0) -> Asked:
    """Is the treated arm's curve above (sign 1) or below (-1) the control arm's, or the original run's at the same steps if
    there is no control arm? With `by`, by more than this share of it.

    A break in the first steps is compared with the original run; a break that starts later needs a control arm of the same
    length.
    """

    def asked(arms: Arms) -> Answer:
        treated, (whose, before) = arms.curve(name), _untreated(arms, name)
        if treated is None or before is None:
            return _open(f"{name} was not recorded in both")
        there = before.between(treated.steps[0], treated.steps[-1])
        both = treated.between(max(before.steps[0], arms.since), before.steps[-1])
        level = np.interp(both.steps, before.steps, before.values)
        return _tested(
            sign * (both.values - level) - by * np.abs(level),
            _shift,
            0.0 if by else MIN_CHANGE * _size(there),
            arms.ended,
            ALPHA,
            name,
            f"is {f'more than {100 * by:.0f} % ' if by else ''}{'above' if sign > 0 else 'below'} {whose}",
        )

    return asked


def _untreated(arms: Arms, name: str) -> tuple[str, Series | None]:
    """What the treated arm is compared with: the control arm's finite values, or the original run's if there is no such arm."""
    if CONTROL in arms.overrides:
        return "the control arm's", arms.curve(name, CONTROL)
    curve = curve_of(arms.original, name)
    return "the original run's", curve.finite if curve is not None and len(curve.finite) else None


def ends_above(name: str) -> Asked:
    """Is the second half of the treated arm's curve above the control arm's, by more than a fix must gain?

    Only the second half counts, because a break may start late.
    """

    def asked(arms: Arms) -> Answer:
        treated, control = arms.curve(name), arms.curve(name, CONTROL)
        if treated is None or control is None:
            return _open(f"{name} was not recorded in both arms")
        both = treated.between(control.steps[0], control.steps[-1])
        level = np.interp(both.steps, control.steps, control.values)
        gain, least = _later(both.values - level), _later(MIN_GAIN * np.abs(level))
        if not arms.ended or len(gain) < MIN_RANKS:
            return _open(f"{len(gain)} points in the second half of {name}")
        middle, (_, p) = float(np.median(gain)), _shift(gain - least)
        reason = (
            f"{name} ends {number(abs(middle))} {'above' if middle > 0 else 'below'} the control arm's (p = {p:.2g})"
        )
        return Answer(yes=p < ALPHA, reason=reason, n=len(gain))

    return asked


def collapses(name: str) -> Asked:
    """Does the treated arm's curve fall below the original run's by more than the noise of single points?"""

    def asked(arms: Arms) -> Answer:
        treated, original = arms.curve(name), curve_of(arms.original, name)
        if treated is None or original is None or len(original.finite) < MIN_POINTS:
            return _open(f"{name} was not recorded in both")
        before = original.finite
        both = treated.between(before.steps[0], before.steps[-1])
        level, beyond = np.interp(both.steps, before.steps, before.values), COLLAPSED * _noise(before)
        if before.values.min() >= 0 and float(np.median(level)) <= beyond:
            return _open(f"{name} of the original run is too near to 0 to fall")
        word = f"is below the original run's, beyond a noise of {number(beyond)},"
        return _tested(level - both.values - beyond, _shift, 0.0, arms.ended, ALPHA, name, word)

    return asked


def moves(*names: str, alpha: float = ALPHA) -> Asked:
    """Does the level of any of these curves change in the treated arm, up or down?"""

    def asked(arms: Arms) -> Answer:
        answers = [
            _changed(curve, name, sign, arms.ended, alpha / (2 * len(names)))
            for name in names
            if (curve := arms.curve(name)) is not None
            for sign in (1, -1)
        ]
        return any_of(answers) if answers else _open(f"none of {', '.join(names)} was recorded")

    return asked


def jumps(name: str, alpha: float = ALPHA) -> Asked:
    """Does the treated arm's curve jump from one level to another? Its points must be independent, so no running means."""

    def asked(arms: Arms) -> Answer:
        curve = arms.curve(name)
        if curve is None:
            return _open(f"{name} was not recorded")
        return any_of(
            _tested(sign * curve.values, _jump, MIN_CHANGE * _size(curve), arms.ended, alpha / 2, name, word)
            for sign, word in ((1, "jumps up"), (-1, "jumps down"))
        )

    return asked


def beats(name: str, sign: int = 1) -> Asked:
    """Is the treated arm's curve above (sign 1) or below (-1) the control arm's, step by step?"""

    def asked(arms: Arms) -> Answer:
        treated, control = arms.curve(name), arms.curve(name, CONTROL)
        if treated is None or control is None:
            return _open(f"{name} was not recorded in both arms")
        both = treated.between(max(control.steps[0], arms.since), control.steps[-1])
        difference = sign * (both.values - np.interp(both.steps, control.steps, control.values))
        return _answer(
            decide(difference, MIN_CHANGE * _size(control)),
            len(difference),
            arms.ended,
            f"{name}, treated arm against control arm",
        )

    return asked


def is_off(levels: Mapping[str, float], tolerance: float) -> Asked:
    """Is any signal further than `tolerance` from the level that it must have? One point decides."""

    def asked(arms: Arms) -> Answer:
        curves = {name: curve for name in levels if (curve := arms.curve(name)) is not None}
        if not curves:
            return _open(f"none of {', '.join(levels)} was recorded")
        distance = {name: float(np.abs(curve.values - levels[name]).max()) for name, curve in curves.items()}
        name = max(distance, key=distance.__getitem__)
        yes = distance[name] > tolerance
        reason = f"{name} differs from {number(levels[name])} by up to {number(distance[name])}"
        return Answer(yes=yes if yes or arms.ended else None, reason=reason, n=len(curves[name]))

    return asked


def lies_above(name: str, level: float) -> Asked:
    """Is the mean of the second half of the treated arm's curve above a level?"""
    return lambda arms: _level(arms.curve(name), name, lambda mean: mean > level, arms.ended)


def lies_below(name: str, level: float) -> Asked:
    """Is the mean of the second half of the treated arm's curve below a level?"""
    return lambda arms: _level(arms.curve(name), name, lambda mean: mean < level, arms.ended)


def lies_apart(higher: str, lower: str, by: float) -> Asked:
    """In the treated arm, is the mean of the second half of one curve above another curve's by more than `by`?"""

    def asked(arms: Arms) -> Answer:
        over, under = arms.curve(higher), arms.curve(lower)
        if over is None or under is None:
            return _open(f"{higher} and {lower} were not both recorded")
        gap = float(_later(over.values).mean() - _later(under.values).mean())
        reason = f"{higher} minus {lower} is {number(gap)}"
        return Answer(yes=gap > by if arms.ended else None, reason=reason, n=min(len(over), len(under)))

    return asked


def lies_apart_as_before(higher: str, lower: str, share: float) -> Asked:
    """Is one curve of the treated arm above another by at least `share` of their distance late in the original run?"""

    def asked(arms: Arms) -> Answer:
        over, under = curve_of(arms.original, higher), curve_of(arms.original, lower)
        if over is None or under is None or not len(over.finite) or not len(under.finite):
            return _open(f"{higher} and {lower} were not both recorded")
        before = float(_later(over.finite.values).mean() - _later(under.finite.values).mean())
        if before <= 0:
            return _open(f"{higher} was not above {lower}")
        return lies_apart(higher, lower, share * before)(arms)

    return asked


def _level(curve: Series | None, name: str, condition: Callable[[float], bool], ended: bool) -> Answer:
    if curve is None:
        return _open(f"{name} was not recorded")
    mean = float(_later(curve.values).mean())
    return Answer(yes=condition(mean) if ended else None, reason=f"{name} is {number(mean)}", n=len(curve))


def _later(values: np.ndarray) -> np.ndarray:
    """The second half: a break that starts late shows there, and a break from the start as well."""
    return values[len(values) // 2 :]


def unless(asked: Asked, *others: Asked) -> Asked:
    """The question, but answered with no if another question is answered with yes, which explains the same measurement."""

    def alone(arms: Arms) -> Answer:
        answer = asked(arms)
        if answer.yes is not True:
            return answer
        explained = next((also for other in others if (also := other(arms)).yes), None)
        return (
            answer
            if explained is None
            else replace(answer, yes=False, reason=f"{answer.reason}, but {explained.reason}")
        )

    return alone


def both(first: Asked, second: Asked) -> Asked:
    """Are two questions both answered with yes? No if one is answered with no, open if one is open."""

    def asked(arms: Arms) -> Answer:
        answers = [first(arms), second(arms)]
        least = min(answers, key=lambda a: (a.yes is not False, a.yes is not None))
        return replace(least, reason="; ".join(a.reason for a in answers))

    return asked


def was_unsteady(name: str, factor: float) -> Asked:
    """Was the 80 % quantile of the original run's curve above the 20 % quantile by more than a factor?"""

    def asked(arms: Arms) -> Answer:
        original = curve_of(arms.original, name)
        if original is None or len(original.finite) < MIN_POINTS:
            return _open(f"the original run records no {name}")
        low, high = np.quantile(original.finite.values, [0.2, 0.8])
        reason = f"{name} of the original run: 20 % of the points below {number(float(low))}, 20 % above {number(float(high))}"
        return Answer(yes=bool(high > factor * low), reason=reason, n=len(original))

    return asked


def watched(asks: Callable[[Mapping[str, float]], bool], *names: str) -> Asked:
    """Do the means of the second half of what the hooks measured, by name, satisfy the condition?"""

    def asked(arms: Arms) -> Answer:
        seen = {name: _later(arms.watched(name)) for name in names}
        if missing := [name for name, rows in seen.items() if not len(rows)]:
            return _open(f"the hooks measured no {', '.join(missing)}")
        means = {name: float(rows.mean()) for name, rows in seen.items()}
        reason = ", ".join(f"{name}: {number(value)}" for name, value in means.items())
        return Answer(yes=asks(means) if arms.ended else None, reason=reason, n=min(map(len, seen.values())))

    return asked


def drifts(name: str, factor: float) -> Asked:
    """Does what the hooks measured change by more than a factor, or change its sign, from the first third to the last?"""

    def asked(arms: Arms) -> Answer:
        rows = arms.watched(name)
        if len(rows) < MIN_POINTS:
            return _open(f"the hooks measured {name} {len(rows)} times")
        first, last = np.median(rows[: len(rows) // 3]), np.median(rows[-(len(rows) // 3) :])
        low, high = sorted((abs(float(first)), abs(float(last))))
        yes = bool(high > factor * low or first * last < 0)
        reason = f"{name} is {number(float(first))} in the first third, {number(float(last))} in the last"
        return Answer(yes=yes if arms.ended else None, reason=reason, n=len(rows))

    return asked


def grows(name: str, share: float, parts: int = 4) -> Asked:
    """Does what the hooks measured grow from each part of the second half to the next, and by a share of itself in total?"""

    def asked(arms: Arms) -> Answer:
        later = _later(arms.watched(name))
        if len(later) < parts:
            return _open(f"the hooks measured {name} only {len(arms.watched(name))} times")
        levels = np.array([part.mean() for part in np.array_split(later, parts)])
        grown = float(levels[-1] / levels[0] - 1)
        yes = bool((np.diff(levels) > 0).all() and grown > share)
        return Answer(yes=yes if arms.ended else None, reason=f"{name} grows by {number(100 * grown)} %", n=len(later))

    return asked


def slows(name: str, factor: float) -> Asked:
    """Does a phase of the treated arm take longer in the last third than in the first, by more than a factor?"""

    def asked(arms: Arms) -> Answer:
        curve = arms.curve(name)
        if curve is None or len(curve) < MIN_POINTS:
            return _open(f"too few points of {name}")
        third = len(curve) // 3
        first, last = (float(np.median(part)) for part in (curve.values[:third], curve.values[-third:]))
        reason = f"{name} takes {number(first)} s in the first third, {number(last)} s in the last"
        return Answer(yes=last > factor * first if arms.ended else None, reason=reason, n=len(curve))

    return asked


def is_set(name: str, condition: Callable[[Any], bool]) -> Asked:
    """Does a setting in force satisfy the condition? None: the setting is off."""

    def asked(arms: Arms) -> Answer:
        held = arms.setting(name)
        if held is UNKNOWN:
            return _open(f"the value of {name} is not known")
        return Answer(yes=condition(held) if arms.ended else None, reason=f"{name} in force: {held}", n=1)

    return asked


def rate_is(condition: Callable[[float, float], bool]) -> Asked:
    """Do the optimizers' learning rates, divided by the configured one, satisfy a condition on (smallest, largest)?"""

    def asked(arms: Arms) -> Answer:
        configured = arms.overrides.get(TREATED, EMPTY).get("learning_rate") or 0.0
        configured *= float(max(arms.watched("schedule"), default=1.0))  # a resumed trial may be far down its schedule
        highest = _highest_rates(arms.rows("watch.jsonl"))
        if not configured or not highest:
            return _open("the hooks saw no optimizer, or no learning rate is configured")
        least, largest = min(highest.values()) / configured, max(highest.values()) / configured
        reason = f"the optimizers' learning rates are {number(least)} to {number(largest)} times the configured one"
        return Answer(yes=condition(least, largest) if arms.ended else None, reason=reason, n=len(highest))

    return asked


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


def is_not_finite(name: str) -> Asked:
    """Is any value of the treated arm's curve not a number?"""

    def asked(arms: Arms) -> Answer:
        curves = [c.values for run in arms.runs.get(TREATED, ()) if (c := curve_of(run, name)) is not None]
        if not curves:
            return _open(f"{name} was not recorded")
        values = np.concatenate(curves)
        broken = int((~np.isfinite(values)).sum())
        reason = f"{broken} of {len(values)} values of {name} are not finite"
        return Answer(yes=bool(broken) if broken or arms.ended else None, reason=reason, n=len(values))

    return asked


def never_clipped(arms: Arms) -> Answer:
    """Did the original run have ratios far outside every usual clip range while nothing was clipped?"""
    ratio, clipped = (curve_of(arms.original, name) for name in ("policy_ratio_max", "policy_clip_fraction"))
    if ratio is None or clipped is None or len(clipped.finite) < MIN_POINTS:
        return _open("the original run records no largest ratio, or no clip fraction")
    apart = ratio.finite.values > LARGE_RATIO
    share = np.interp(ratio.finite.steps, clipped.finite.steps, clipped.finite.values)[apart]
    free = int((share == 0).sum())
    reason = f"{free} of {int(apart.sum())} updates with ratios above {number(LARGE_RATIO)} clipped nothing"
    return Answer(yes=free >= MIN_POINTS and free > len(share) / 2, reason=reason, n=len(apart))


def toy_rises(arms: Arms) -> Answer:
    """Does the toy reward rise? Trainers of language models log it as the reward; elsewhere the hooks measure it."""
    rows = arms.watched("toy")
    curve = (
        Series(name="toy", steps=np.arange(len(rows), dtype=float), values=rows)
        if len(rows)
        else arms.curve("reward_mean")
    )
    return _changed(curve, "the toy reward", 1, arms.ended)


def spreads_as_the_original_moves(name: str) -> Asked:
    """Do evaluations of the same weights differ as much as neighbouring points of the original run's curve?"""

    def asked(arms: Arms) -> Answer:
        curve, original = arms.curve(name), curve_of(arms.original, name)
        if curve is None or original is None or len(curve) < MIN_POINTS or len(original.finite) < MIN_POINTS:
            return _open(f"too few points of {name}")
        here = float(np.std(curve.values, ddof=1))
        there = _noise(original.finite)
        reason = (
            f"{name} varies by {number(here)} with the same weights, by {number(there)} between neighbours of the run"
        )
        return Answer(yes=here > 0.5 * there if arms.ended else None, reason=reason, n=len(curve))

    return asked


def weights_differ(side: str) -> Asked:
    """Do the trainer and another side ("engine", "evaluation") hold different weights (or adapters) at the same step?"""

    def asked(arms: Arms) -> Answer:
        rows = arms.rows("weights.jsonl")
        sides = {(row["side"], row["step"]): row for row in rows}
        pairs = [(row, sides.get((side, step))) for (whose, step), row in sides.items() if whose == "trainer"]
        both = [(trainer, other) for trainer, other in pairs if other is not None]
        if not both:
            return _open(f"no weights of trainer and {side} were recorded; see record_weights")
        apart = [t["step"] for t, e in both if t["hashes"] != e["hashes"] or t["adapters"] != e["adapters"]]
        if not apart and len({json.dumps(trainer["hashes"]) for trainer, _ in both}) == 1 < len(both):
            return _open(f"the trainer's weights never changed, so a comparison with {side} proves nothing")
        reason = f"the weights differ at {len(apart)} of {len(both)} steps" + (
            f", first at step {apart[0]}" if apart else ""
        )
        return Answer(yes=bool(apart) if apart or arms.ended else None, reason=reason, n=len(both))

    return asked


def breaks_again(arms: Arms) -> Answer:
    """Does the treated arm break in the same link as the original run? Open where a short arm may be too short for that."""
    if not arms.ended:
        return _open("still running")
    if arms.first_break is None:
        return _open("the runs were not diagnosed")
    before = arms.first_break(arms.original)
    after = [arms.first_break(run) for run in arms.runs.get(TREATED, ())]
    if before is None or not after:
        return _open("the original run shows no first break")
    again = [b for b in after if b is not None and b.link is before.link]
    yes, reason = len(again) > len(after) / 2, f"{len(again)} of {len(after)} break at {before.link.value}"
    if not yes and before.link in TAKES_LONGER:
        return _open(f"{reason}; a break of this link needs more points to show")
    return Answer(yes=yes, reason=reason, n=len(after))


# --- how ---------------------------------------------------------------------------------------------------------------


def _changed(curve: Series | None, name: str, sign: int, ended: bool, alpha: float = ALPHA) -> Answer:
    """A change of level, by the order of the points only, so that outliers and the shape of the curve do not matter."""
    if curve is None:
        return _open(f"{name} was not recorded")
    word = "rises" if sign > 0 else "falls"
    return _tested(sign * curve.values, _trend, MIN_CHANGE * _size(curve), ended, alpha, name, word)


def _tested(
    values: np.ndarray,
    test: Callable[[np.ndarray], tuple[float, float]],
    material: float,
    ended: bool,
    alpha: float,
    name: str,
    word: str,
) -> Answer:
    """Apply a test, (effect, one-sided p), each time the number of points has doubled, and at the end.

    The k-th test may use alpha / (k (k + 1)) of the error probability; the last one what is left, alpha / k.
    """
    tests = [FIRST_TEST * 2**k for k in range(20) if FIRST_TEST * 2**k <= len(values)]
    last = len(values) if ended and len(values) >= MIN_POINTS else None
    if last is not None and last not in tests:
        tests.append(last)
    effect = p = math.nan
    for k, n in enumerate(tests, 1):
        effect, p = test(values[:n])
        if effect > material and p < alpha / (k if n == last else k * (k + 1)):
            return Answer(yes=True, reason=f"{name} {word} by {number(effect)} (p = {p:.1g}, {n} points)", n=n)
    if not tests or not ended:
        return _open(f"{len(values)} points of {name}")
    return Answer(yes=False, reason=f"{name}: not clear that the curve {word} (p = {p:.2g})", n=len(values))


def _trend(values: np.ndarray) -> tuple[float, float]:
    """How far the median of the second half is above that of the first, and the p value of Mann and Whitney's test.

    This test is as good as a trend test where a curve rises, and better where the curve jumps.
    """
    first, second = np.array_split(values, 2)
    n, m = len(first), len(second)
    wins = float((np.sign(second[:, None] - first[None, :]) / 2 + 0.5).sum())
    z = (wins - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return float(np.median(second) - np.median(first)), two_sided(z) / 2 if z > 0 else 1 - two_sided(z) / 2


def _jump(values: np.ndarray) -> tuple[float, float]:
    """The clearest jump up, and its p value: Student's t test, times the number of possible places (Bonferroni)."""
    n = len(values)
    places = range(EACH_SIDE, n - EACH_SIDE + 1)
    steps = [(values[k:].mean() - values[:k].mean(), _step_t(values, k)) for k in places]
    if not steps:
        return 0.0, 1.0
    effect, t = max(steps, key=lambda step: step[1])
    z = t_to_z(t, n - 2) if math.isfinite(t) else math.copysign(math.inf, t)
    p = two_sided(z) / 2 if z > 0 else 1.0
    return float(effect), min(1.0, p * len(steps))


def _step_t(values: np.ndarray, k: int) -> float:
    """Student's t of a jump before the k-th value; infinite where the values do not vary otherwise."""
    before, after = values[:k], values[k:]
    rest = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    step = after.mean() - before.mean()
    error = math.sqrt(rest / (len(values) - 2) * (1 / len(before) + 1 / len(after)))
    return float(step / error) if error > 0 else math.copysign(math.inf, step) if step else 0.0


def _shift(values: np.ndarray) -> tuple[float, float]:
    """The median, and the p value of Wilcoxon's signed-rank test that it is 0."""
    n = len(values)
    ranks = np.empty(n)
    ranks[np.argsort(np.abs(values), kind="stable")] = np.arange(1, n + 1)
    z = (float(ranks[values > 0].sum()) - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return float(np.median(values)), two_sided(z) / 2 if z > 0 else 1 - two_sided(z) / 2


def _noise(curve: Series) -> float:
    """Standard deviation of single points, from the differences of neighbours, so that a trend adds nothing."""
    return float(np.sqrt((np.diff(curve.values) ** 2).mean() / 2))


def _size(curve: Series) -> float:
    return float(np.abs(curve.values).max()) if len(curve) else 0.0


def _answer(decision: Decision, n: int, ended: bool, what: str) -> Answer:
    """A clear answer at once; at the end, what is not clear is a no."""
    if decision.decided is Decided.CANNOT_TELL and (not ended or n < MIN_POINTS):
        return _open(f"{what}: {decision.reason}")
    yes = decision.decided is Decided.GO
    return Answer(yes=yes, reason=f"{what}: {decision.reason}", interval=decision.interval, n=decision.n)


def any_of(answers: Iterable[Answer]) -> Answer:
    """Yes if any is, else no if any is, else open."""
    return min(answers, key=lambda a: (a.yes is not True, a.yes is None))


def _open(reason: str) -> Answer:
    return Answer(yes=None, reason=reason)
