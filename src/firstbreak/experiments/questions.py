"""What an experiment may ask of its arms. Each builder returns a function from the arms to an answer.

An answer is yes where it is clear beyond chance, at whatever moment one looks; no where the arms have ended (or the
opposite is clear) without that; and open where nothing could be measured. "No" therefore means "looked for and not
seen", as a quiet detector does, and what it is worth is part of P(yes | cause).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.engine.diagnose import diagnose
from firstbreak.experiments.decide import ALPHA, Decision, Verdict, decide
from firstbreak.inputs import Inputs
from firstbreak.model import EMPTY, Interval, Link, Run, Series
from firstbreak.stats.normal import t_to_z, two_sided
from firstbreak.words import number

TREATED, CONTROL = "treated", "control"
UNKNOWN = object()  #: a setting that nothing shows (None is one that is shown, and off)
MIN_POINTS = 6  #: of a curve of which anything is asked
FIRST_LOOK = 8  #: points at the first look at a rise; each further look comes at twice as many
LEAST_RANKS = 5  #: signed ranks: fewer are all of one sign by chance too often
GAIN = 0.05  #: share of the control's level: a fix of the cause gains more
EACH_SIDE = 3  #: points that a step has before and after it
FAR_DOWN = 3.0  #: standard deviations of single points: what no run of bad luck looks like
FAR = 2.0  #: a ratio that every usual clip would have stopped
TAKES_LONGER = frozenset({Link.EVALUATION, Link.SYSTEMS})  #: breaks told by the noise of many points
MATERIAL = 0.02  #: changes below this share of the curve's own size are left alone


@dataclass(frozen=True)
class Arms:
    """What came of an experiment so far."""

    runs: Mapping[str, Sequence[Run]]  #: arm -> one run for each seed
    folders: Mapping[str, Sequence[Path]]  #: arm -> the trials' folders
    original: Run  #: the run that is to be explained
    ended: bool = True  #: nothing more will be written
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)  #: arm -> what its trainer was told
    since: float = -math.inf  #: the step before which arms that go on from a checkpoint cannot differ: the break's

    def curve(self, name: str, arm: str = TREATED) -> Series | None:
        """A signal (`kl_ref`) or derived input (`score`) of an arm, the mean over its seeds; None where none recorded it."""
        curves = [
            c.finite for run in self.runs.get(arm, ()) if (c := curve_of(run, name)) is not None and len(c.finite)
        ]
        if not curves:
            return None
        steps = min(curves, key=len).steps
        values = np.mean([np.interp(steps, c.steps, c.values) for c in curves], axis=0)
        return replace(curves[0], steps=steps, values=values)

    def watched(self, name: str, arm: str = TREATED) -> np.ndarray:
        """What the hooks measured, batch by batch, shape (n,); empty where they did not."""
        return np.array([row[name] for row in self.rows("watch.jsonl", arm) if name in row], dtype=float)

    def rows(self, file: str, arm: str = TREATED) -> list[dict[str, Any]]:
        """What the hooks wrote into a file of the arm's trials."""
        return [json.loads(line) for folder in self.folders.get(arm, ()) for line in _lines(folder / file)]

    def setting(self, name: str) -> Any:
        """A setting of the treated arm: as the hooks saw it in force last, else as told or recorded; `UNKNOWN` else."""
        seen = [row[name] for row in self.rows("settings.jsonl") if name in row]
        if seen:
            return seen[-1]
        told = self.told.get(TREATED, EMPTY).get(name)
        held = self.original.config.number(name) if told is None else told
        return UNKNOWN if held is None else held


def _lines(path: Path) -> list[str]:
    """Whole lines only: the last one may still be in the writing."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith("\n")]


def curve_of(run: Run, name: str) -> Series | None:
    """A signal (`kl_ref`) or derived input (`score`) of a run."""
    found = Inputs(run).get(name)
    return found if isinstance(found, Series) else None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Yes, no, or open (None), with the reason."""

    yes: bool | None
    reason: str
    interval: Interval | None = None
    n: int = 0  #: points that it rests on


Asked = Callable[[Arms], Answer]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and how probable "yes" is under each cause."""

    asks: str
    answer: Asked
    needs: str = ""  #: signal or derived input, "hooks" or "weights": without it there is no answer
    yes: Mapping[str, float] = field(default_factory=lambda: EMPTY)  #: cause, or "healthy" -> P(yes)
    otherwise: float = 0.5  #: P(yes) for every other candidate
    #: candidate -> (yes, of so many) in the lab
    counted: Mapping[str, tuple[int, int]] = field(default_factory=lambda: EMPTY)


def rises(name: str) -> Asked:
    """Does the treated arm's curve rise, from its first half to its second?"""
    return lambda arms: _changed(arms.curve(name), name, 1, arms.ended)


def falls(name: str) -> Asked:
    """Does the treated arm's curve fall?"""
    return lambda arms: _changed(arms.curve(name), name, -1, arms.ended)


def outruns(name: str, sign: int = 1, by: float = 0.0) -> Asked:
    """Is the treated arm's curve above (sign 1) or below (-1) the control's, or the original's over the same steps where
    there is no control? With `by`, by more than this share of it.

    What breaks in the first steps is compared with the original, which is there already; what sets in later needs a
    control of the same length.
    """

    def asked(arms: Arms) -> Answer:
        treated, (whose, before) = arms.curve(name), _untreated(arms, name)
        if treated is None or before is None:
            return _open(f"{name} was not recorded in both")
        there = before.between(treated.steps[0], treated.steps[-1])
        both = treated.between(max(before.steps[0], arms.since), before.steps[-1])
        level = np.interp(both.steps, before.steps, before.values)
        return _looks(
            sign * (both.values - level) - by * np.abs(level),
            _shift,
            0.0 if by else MATERIAL * _size(there),
            arms.ended,
            ALPHA,
            name,
            f"lies {'above' if sign > 0 else 'below'} {whose}{f', past {100 * by:.0f} % of it,' if by else ''}",
        )

    return asked


def _untreated(arms: Arms, name: str) -> tuple[str, Series | None]:
    """What the treated arm is compared with: the control's finite values, or the original's where there is no such arm."""
    if CONTROL in arms.told:
        return "the control's", arms.curve(name, CONTROL)
    curve = curve_of(arms.original, name)
    return "the original's", curve.finite if curve is not None and len(curve.finite) else None


def ends_above(name: str) -> Asked:
    """Does the later half of the treated arm's curve lie above the control's, by more than a fix must gain?

    What sets in late is not outweighed by the steps before it.
    """

    def asked(arms: Arms) -> Answer:
        treated, control = arms.curve(name), arms.curve(name, CONTROL)
        if treated is None or control is None:
            return _open(f"{name} was not recorded in both arms")
        both = treated.between(control.steps[0], control.steps[-1])
        level = np.interp(both.steps, control.steps, control.values)
        gain, least = _later(both.values - level), _later(GAIN * np.abs(level))
        if not arms.ended or len(gain) < LEAST_RANKS:
            return _open(f"{len(gain)} points in the later half of {name}")
        middle, (_, p) = float(np.median(gain)), _shift(gain - least)
        reason = f"{name} ends {number(abs(middle))} {'above' if middle > 0 else 'below'} the control's (p = {p:.2g})"
        return Answer(yes=p < ALPHA, reason=reason, n=len(gain))

    return asked


def collapses(name: str) -> Asked:
    """Does the treated arm's curve fall below the original's by more than all that neighbouring points differ there?"""

    def asked(arms: Arms) -> Answer:
        treated, original = arms.curve(name), curve_of(arms.original, name)
        if treated is None or original is None or len(original.finite) < MIN_POINTS:
            return _open(f"{name} was not recorded in both")
        before = original.finite
        both = treated.between(before.steps[0], before.steps[-1])
        level, beyond = np.interp(both.steps, before.steps, before.values), FAR_DOWN * _noise(before)
        if before.values.min() >= 0 and float(np.median(level)) <= beyond:
            return _open(f"{name} of the original lies too near to 0 to fall")
        word = f"lies below the original's, past {number(beyond)} of noise,"
        return _looks(level - both.values - beyond, _shift, 0.0, arms.ended, ALPHA, name, word)

    return asked


def moves(*names: str, alpha: float = ALPHA) -> Asked:
    """Does any of the treated arm's curves change its level, up or down?"""

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
    """Does the treated arm's curve step from one level to another, wherever? Its points must be independent: no running means."""

    def asked(arms: Arms) -> Answer:
        curve = arms.curve(name)
        if curve is None:
            return _open(f"{name} was not recorded")
        return any_of(
            _looks(sign * curve.values, _jump, MATERIAL * _size(curve), arms.ended, alpha / 2, name, word)
            for sign, word in ((1, "steps up"), (-1, "steps down"))
        )

    return asked


def beats(name: str, sign: int = 1) -> Asked:
    """Is the treated arm's curve above (sign 1) or below (-1) the control's, step by step?"""

    def asked(arms: Arms) -> Answer:
        treated, control = arms.curve(name), arms.curve(name, CONTROL)
        if treated is None or control is None:
            return _open(f"{name} was not recorded in both arms")
        both = treated.between(max(control.steps[0], arms.since), control.steps[-1])
        difference = sign * (both.values - np.interp(both.steps, control.steps, control.values))
        return _answer(
            decide(difference, MATERIAL * _size(control)),
            len(difference),
            arms.ended,
            f"{name}, treated against control",
        )

    return asked


def is_off(levels: Mapping[str, float], tolerance: float) -> Asked:
    """Is any signal further than `tolerance` from the level that it has by construction? One point decides."""

    def asked(arms: Arms) -> Answer:
        curves = {name: curve for name in levels if (curve := arms.curve(name)) is not None}
        if not curves:
            return _open(f"none of {', '.join(levels)} was recorded")
        distance = {name: float(np.abs(curve.values - levels[name]).max()) for name, curve in curves.items()}
        name = max(distance, key=distance.__getitem__)
        yes = distance[name] > tolerance
        reason = f"{name} is up to {number(distance[name])} away from {number(levels[name])}"
        return Answer(yes=yes if yes or arms.ended else None, reason=reason, n=len(curves[name]))

    return asked


def lies_above(name: str, level: float) -> Asked:
    """Does the later half of the treated arm's curve lie above a level, on average?"""
    return lambda arms: _level(arms.curve(name), name, lambda mean: mean > level, arms.ended)


def lies_below(name: str, level: float) -> Asked:
    """Does the later half of the treated arm's curve lie below a level, on average?"""
    return lambda arms: _level(arms.curve(name), name, lambda mean: mean < level, arms.ended)


def lies_apart(higher: str, lower: str, by: float) -> Asked:
    """Does the later half of one curve of the treated arm lie above another's by more than `by`, on average?"""

    def asked(arms: Arms) -> Answer:
        over, under = arms.curve(higher), arms.curve(lower)
        if over is None or under is None:
            return _open(f"{higher} and {lower} were not both recorded")
        gap = float(_later(over.values).mean() - _later(under.values).mean())
        reason = f"{higher} minus {lower} is {number(gap)}"
        return Answer(yes=gap > by if arms.ended else None, reason=reason, n=min(len(over), len(under)))

    return asked


def lies_apart_as_before(higher: str, lower: str, share: float) -> Asked:
    """Does one curve of the treated arm lie above another's by `share` of what it did late in the original, or more?"""

    def asked(arms: Arms) -> Answer:
        over, under = curve_of(arms.original, higher), curve_of(arms.original, lower)
        if over is None or under is None or not len(over.finite) or not len(under.finite):
            return _open(f"{higher} and {lower} were not both recorded")
        before = float(_later(over.finite.values).mean() - _later(under.finite.values).mean())
        if before <= 0:
            return _open(f"{higher} did not lie above {lower}")
        return lies_apart(higher, lower, share * before)(arms)

    return asked


def _level(curve: Series | None, name: str, condition: Callable[[float], bool], ended: bool) -> Answer:
    if curve is None:
        return _open(f"{name} was not recorded")
    mean = float(_later(curve.values).mean())
    return Answer(yes=condition(mean) if ended else None, reason=f"{name} is {number(mean)}", n=len(curve))


def _later(values: np.ndarray) -> np.ndarray:
    """The later half: a break that sets in late shows there, one that is there from the start as well."""
    return values[len(values) // 2 :]


def only_for(name: str, value: object, asked: Asked) -> Asked:
    """The question, where a derived input of the original (`family`, `writes_text`) has this value; open elsewhere."""

    def within(arms: Arms) -> Answer:
        held = Inputs(arms.original).get(name)
        return asked(arms) if held == value else _open(f"asked where {name} is {value} only, here it is {held}")

    return within


def unless(asked: Asked, *others: Asked) -> Asked:
    """The question, answered with no where another one is answered with yes: it explains the same sight."""

    def alone(arms: Arms) -> Answer:
        answer = asked(arms)
        if answer.yes is not True:
            return answer
        explained = next((told for other in others if (told := other(arms)).yes), None)
        return (
            answer
            if explained is None
            else replace(answer, yes=False, reason=f"{answer.reason}, but {explained.reason}")
        )

    return alone


def both(first: Asked, second: Asked) -> Asked:
    """Are two questions answered with yes? No as soon as one is not, open where one is."""

    def asked(arms: Arms) -> Answer:
        answers = [first(arms), second(arms)]
        told = min(answers, key=lambda a: (a.yes is not False, a.yes is not None))
        return replace(told, reason="; ".join(a.reason for a in answers))

    return asked


def was_unsteady(name: str, factor: float) -> Asked:
    """Did the original's curve have a fifth of its points above another fifth by more than a factor?"""

    def asked(arms: Arms) -> Answer:
        original = curve_of(arms.original, name)
        if original is None or len(original.finite) < MIN_POINTS:
            return _open(f"the original records no {name}")
        low, high = np.quantile(original.finite.values, [0.2, 0.8])
        reason = f"{name} of the original: a fifth below {number(float(low))}, a fifth above {number(float(high))}"
        return Answer(yes=bool(high > factor * low), reason=reason, n=len(original))

    return asked


def watched(asks: Callable[[Mapping[str, float]], bool], *names: str) -> Asked:
    """Does the mean of the later half of what the hooks measured, by name, satisfy the condition?"""

    def asked(arms: Arms) -> Answer:
        seen = {name: _later(arms.watched(name)) for name in names}
        if missing := [name for name, rows in seen.items() if not len(rows)]:
            return _open(f"the hooks measured no {', '.join(missing)}")
        means = {name: float(rows.mean()) for name, rows in seen.items()}
        reason = ", ".join(f"{name}: {number(value)}" for name, value in means.items())
        return Answer(yes=asks(means) if arms.ended else None, reason=reason, n=min(map(len, seen.values())))

    return asked


def drifts(name: str, factor: float) -> Asked:
    """Does what the hooks measured change by more than a factor, or its sign, from the first third to the last?"""

    def asked(arms: Arms) -> Answer:
        rows = arms.watched(name)
        if len(rows) < MIN_POINTS:
            return _open(f"the hooks measured {name} {len(rows)} times")
        first, last = np.median(rows[: len(rows) // 3]), np.median(rows[-(len(rows) // 3) :])
        low, high = sorted((abs(float(first)), abs(float(last))))
        yes = bool(high > factor * low or first * last < 0)
        reason = f"{name} is {number(float(first))} at first, {number(float(last))} at last"
        return Answer(yes=yes if arms.ended else None, reason=reason, n=len(rows))

    return asked


def grows(name: str, share: float, parts: int = 4) -> Asked:
    """Does what the hooks measured grow from each part of the later half to the next, by a share of itself in all?"""

    def asked(arms: Arms) -> Answer:
        later = _later(arms.watched(name))
        if len(later) < parts:
            return _open(f"the hooks measured {name} too seldom")
        levels = np.array([part.mean() for part in np.array_split(later, parts)])
        grown = float(levels[-1] / levels[0] - 1)
        yes = bool((np.diff(levels) > 0).all() and grown > share)
        return Answer(yes=yes if arms.ended else None, reason=f"{name} grows by {number(100 * grown)} %", n=len(later))

    return asked


def slows(name: str, factor: float) -> Asked:
    """Does a phase of the treated arm take longer at last than at first, by more than a factor?"""

    def asked(arms: Arms) -> Answer:
        curve = arms.curve(name)
        if curve is None or len(curve) < MIN_POINTS:
            return _open(f"too few points of {name}")
        third = len(curve) // 3
        first, last = (float(np.median(part)) for part in (curve.values[:third], curve.values[-third:]))
        reason = f"{name} takes {number(first)} at first, {number(last)} at last"
        return Answer(yes=last > factor * first if arms.ended else None, reason=reason, n=len(curve))

    return asked


def is_set(name: str, condition: Callable[[Any], bool]) -> Asked:
    """Does a setting that is in force satisfy the condition? None stands for a bound that is off."""

    def asked(arms: Arms) -> Answer:
        held = arms.setting(name)
        if held is UNKNOWN:
            return _open(f"nothing shows {name}")
        return Answer(yes=condition(held) if arms.ended else None, reason=f"{name} in force: {held}", n=1)

    return asked


def rate_is(condition: Callable[[float, float], bool]) -> Asked:
    """Do the optimizers' learning rates, as multiples of what they were told, satisfy a condition on (least, largest)?"""

    def asked(arms: Arms) -> Answer:
        told = arms.told.get(TREATED, EMPTY).get("learning_rate") or 0.0
        told *= float(max(arms.watched("schedule"), default=1.0))  # a trial that goes on may be far down its schedule
        highest = _highest_rates(arms.rows("watch.jsonl"))
        if not told or not highest:
            return _open("the hooks saw no optimizer, or no rate was told")
        least, largest = min(highest.values()) / told, max(highest.values()) / told
        reason = f"optimizers' rates are {number(least)} to {number(largest)} times the one told"
        return Answer(yes=condition(least, largest) if arms.ended else None, reason=reason, n=len(highest))

    return asked


def _highest_rates(rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    """Of the optimizers that have made a step since the last one joined: those that train, and no warm-up's."""
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
    """Did ratios of the original lie far outside of any clip range while nothing was clipped?"""
    ratio, clipped = (curve_of(arms.original, name) for name in ("policy_ratio_max", "policy_clip_fraction"))
    if ratio is None or clipped is None or len(clipped.finite) < MIN_POINTS:
        return _open("the original records no largest ratio, or no clip fraction")
    apart = ratio.finite.values > FAR
    share = np.interp(ratio.finite.steps, clipped.finite.steps, clipped.finite.values)[apart]
    free = int((share == 0).sum())
    reason = f"of {int(apart.sum())} updates with ratios above {number(FAR)}, {free} clipped nothing"
    return Answer(yes=free >= MIN_POINTS and free > len(share) / 2, reason=reason, n=len(apart))


def toy_rises(arms: Arms) -> Answer:
    """Does the toy reward rise? Text trainers log it as the reward; elsewhere the hooks measure it."""
    rows = arms.watched("toy")
    curve = (
        Series(name="toy", steps=np.arange(len(rows), dtype=float), values=rows)
        if len(rows)
        else arms.curve("reward_mean")
    )
    return _changed(curve, "the toy reward", 1, arms.ended)


def spreads_as_the_original_moves(name: str) -> Asked:
    """Do repeated measurements of the same weights differ as much as neighbouring points of the original curve?"""

    def asked(arms: Arms) -> Answer:
        curve, original = arms.curve(name), curve_of(arms.original, name)
        if curve is None or original is None or len(curve) < MIN_POINTS or len(original.finite) < MIN_POINTS:
            return _open(f"too few points of {name}")
        here = float(np.std(curve.values, ddof=1))
        there = _noise(original.finite)
        reason = f"{name} varies by {number(here)} with the weights held still, by {number(there)} between neighbours of the run"
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
            return _open(f"the trainer's weights never changed, so that those of {side} prove nothing")
        reason = f"{len(apart)} of {len(both)} differ" + (f", the first at step {apart[0]}" if apart else "")
        return Answer(yes=bool(apart) if apart or arms.ended else None, reason=reason, n=len(both))

    return asked


def breaks_again(arms: Arms) -> Answer:
    """Does the treated arm break in the link in which the original broke? Open where a short arm may be too short for that."""
    if not arms.ended:
        return _open("still running")
    before = diagnose(arms.original).first_break
    after = [dx.first_break for dx in map(diagnose, arms.runs.get(TREATED, ()))]
    if before is None or not after:
        return _open("the original shows no first break")
    again = [b for b in after if b is not None and b.link is before.link]
    yes, reason = len(again) > len(after) / 2, f"{len(again)} of {len(after)} break at {before.link.value}"
    if not yes and before.link in TAKES_LONGER:
        return _open(f"{reason}, where a break needs more points to show")
    return Answer(yes=yes, reason=reason, n=len(after))


# --- how ---------------------------------------------------------------------------------------------------------------


def _changed(curve: Series | None, name: str, sign: int, ended: bool, alpha: float = ALPHA) -> Answer:
    """A change of level by the order of the points alone, so that neither outliers nor a curve's shape matter."""
    if curve is None:
        return _open(f"{name} was not recorded")
    word = "rises" if sign > 0 else "falls"
    return _looks(sign * curve.values, _trend, MATERIAL * _size(curve), ended, alpha, name, word)


def _looks(
    values: np.ndarray,
    test: Callable[[np.ndarray], tuple[float, float]],
    material: float,
    ended: bool,
    alpha: float,
    name: str,
    word: str,
) -> Answer:
    """Ask a test, (effect, one-sided p), whenever the points have doubled, and at the end.

    The k-th look spends alpha / (k (k + 1)) of the error; the last one has what is left, alpha / k.
    """
    looks = [FIRST_LOOK * 2**k for k in range(20) if FIRST_LOOK * 2**k <= len(values)]
    last = len(values) if ended and len(values) >= MIN_POINTS else None
    if last is not None and last not in looks:
        looks.append(last)
    effect = p = math.nan
    for k, n in enumerate(looks, 1):
        effect, p = test(values[:n])
        if effect > material and p < alpha / (k if n == last else k * (k + 1)):
            return Answer(yes=True, reason=f"{name} {word} by {number(effect)} (p = {p:.1g}, {n} points)", n=n)
    if not looks or not ended:
        return _open(f"{len(values)} points of {name}")
    return Answer(yes=False, reason=f"{name}: no clear sign that it {word} (p = {p:.2g})", n=len(values))


def _trend(values: np.ndarray) -> tuple[float, float]:
    """How far the second half's median lies above the first's, and the probability of such ranks if they were alike.

    Mann and Whitney's test: as good as one for trends where a curve rises, and better where it jumps.
    """
    first, second = np.array_split(values, 2)
    n, m = len(first), len(second)
    wins = float((np.sign(second[:, None] - first[None, :]) / 2 + 0.5).sum())
    z = (wins - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return float(np.median(second) - np.median(first)), two_sided(z) / 2 if z > 0 else 1 - two_sided(z) / 2


def _jump(values: np.ndarray) -> tuple[float, float]:
    """The clearest step up, and its probability by chance: Student's t, times the number of places (Bonferroni)."""
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
    """Student's t of a step before the k-th value; infinite where nothing varies beside it."""
    before, after = values[:k], values[k:]
    rest = ((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum()
    step = after.mean() - before.mean()
    error = math.sqrt(rest / (len(values) - 2) * (1 / len(before) + 1 / len(after)))
    return float(step / error) if error > 0 else math.copysign(math.inf, step) if step else 0.0


def _shift(values: np.ndarray) -> tuple[float, float]:
    """The median, and the probability of such signed ranks if it were 0 (Wilcoxon)."""
    n = len(values)
    ranks = np.empty(n)
    ranks[np.argsort(np.abs(values), kind="stable")] = np.arange(1, n + 1)
    z = (float(ranks[values > 0].sum()) - n * (n + 1) / 4) / math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return float(np.median(values)), two_sided(z) / 2 if z > 0 else 1 - two_sided(z) / 2


def _noise(curve: Series) -> float:
    """Standard deviation of single points, from neighbours: what a trend adds, differences leave out."""
    return float(np.sqrt((np.diff(curve.values) ** 2).mean() / 2))


def _size(curve: Series) -> float:
    return float(np.abs(curve.values).max()) if len(curve) else 0.0


def _answer(decision: Decision, n: int, ended: bool, what: str) -> Answer:
    """Clear answers at once; at the end, what was not seen is a no."""
    if decision.verdict is Verdict.CANNOT_TELL and (not ended or n < MIN_POINTS):
        return _open(f"{what}: {decision.reason}")
    yes = decision.verdict is Verdict.GO
    return Answer(yes=yes, reason=f"{what}: {decision.reason}", interval=decision.interval, n=decision.n)


def any_of(answers: Iterable[Answer]) -> Answer:
    """Yes if any is, else no if any is, else open."""
    return min(answers, key=lambda a: (a.yes is not True, a.yes is None))


def _open(reason: str) -> Answer:
    return Answer(yes=None, reason=reason)
