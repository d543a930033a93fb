"""What an experiment may ask of its arms. Each builder returns a function from the arms to an answer.

An answer is yes where the arms show it beyond chance, also in a run that has not ended; no where the arms have ended (or show
the opposite) and do not show it; and open where nothing could be measured. So "no" means "measured and not seen", as with a
detector that finds nothing, and P(yes | cause) says what a "no" is worth. A trial in which a change as large as the run's own
would probably not have shown is too short to tell: its answer is open, and names the number of points that would do.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.dialects import signals
from firstbreak.engine.families import EVERY, Families
from firstbreak.engine.inputs import DERIVED, Inputs
from firstbreak.engine.stats.normal import above, quantile, t_to_z, two_sided
from firstbreak.engine.stats.sequential import ALPHA, Decided, Decision, decide
from firstbreak.model import EMPTY, FirstBreak, Interval, Link, Run, Series
from firstbreak.words import number

TREATED, CONTROL = "treated", "control"
UNKNOWN = object()  #: a setting that the run does not show (None: the run shows that the setting is off)
MIN_POINTS = 6  #: points of a curve: with fewer, a question is open (convention)
FIRST_TEST = 8  #: points at the first test; each further test comes at twice as many (convention)
FEW_POINTS = 4  #: points of a curve: with fewer, two curves that lie apart do so by chance too often (1 in 20 with 3)
MOST_POINTS = 100_000  #: of a curve (bounds a search)
POWER = 0.8  #: probability with which a difference of the smallest visible size is found (convention)
EFFICIENCY = 0.955  #: of rank tests, against those that know that the noise is Gaussian (3 / pi)
MOVED = 3.0  #: standard errors between thirds of a curve that has moved (convention)
START_UP = 0.75  #: growth that slows down by more than this is that of the first steps (convention)
#: the scores that arms are compared by: the same one on both sides
SCORES = ("eval_score", "training_score")
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
    opposite: bool = False  #: of a no: the arms show the opposite
    needed: int = 0  #: points with which the question would have an answer, where the trial was too short to tell


Asked = Callable[[Arms], Answer]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and the probability of "yes" under each cause."""

    asks: str
    answer: Asked
    needs: str = ""  #: signal or derived input, "hooks" or "weights": without it the question is open
    again: tuple[
        str, ...
    ] = ()  #: signals of the original run that the answer reads again: the ranking has used them already
    #: settings with which the causes come about as well: where the run's own value is unusual, a "no" says nothing against them
    instead: tuple[str, ...] = ()
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


@dataclass(frozen=True)
class OfCurve:
    """A question about a curve, of which it is known before the trial how small a difference it can show."""

    name: str  #: of the curve
    asked: Asked
    errors: Callable[[int], float]  #: points -> standard error of the effect, in standard deviations of one point
    part: float = 1.0  #: share of a trial's points that count

    def visible(self, n: int, spread: float) -> float:
        """The smallest difference that `n` points show with the probability `POWER`; `spread`: standard deviation of one point.

        Infinite where they show none.
        """
        if n < FEW_POINTS:
            return math.inf
        return _standard_errors(n) * self.errors(n) * spread / math.sqrt(EFFICIENCY)

    def enough(self, difference: float, spread: float) -> int:
        """The number of points that show a difference."""
        return bisect_left(range(MOST_POINTS), True, lo=MIN_POINTS, key=lambda n: self.visible(n, spread) <= difference)

    def __call__(self, arms: Arms) -> Answer:
        """The answer; open where the trial would not have shown a change like the run's own, so that it denies nothing."""
        answer = self.asked(arms)
        if answer.yes is None and arms.ended and 0 < answer.n < MIN_POINTS:
            return replace(answer, reason=f"too short to tell: {answer.reason}", needed=answer.needed or MIN_POINTS)
        if answer.yes is not False or answer.opposite:
            return answer
        both = ((arms.curve(name), curve_of(arms.original, name)) for name in scores(self.name))
        trial, original = next((pair for pair in both if None not in pair), (None, None))
        if trial is None or original is None or len(trial) < FEW_POINTS:
            return answer
        spread, change = noise(trial), moved(original)
        seen = self.visible(answer.n, spread)
        if change and spread and seen > change:
            few = f"{answer.n} points show differences from {number(seen)} on, and the run itself moved by {number(change)}"
            return replace(
                answer,
                yes=None,
                reason=f"too short to tell: {answer.reason}; {few}",
                needed=self.enough(change, spread),
            )
        return replace(answer, reason=f"{answer.reason}; a difference of {number(seen)} would have shown")


def _standard_errors(n: int) -> float:
    """Of the smallest visible effect, with the error probability that the last of several tests has (`_tested`)."""
    return quantile(1 - ALPHA / len(_looks(n, ended=True))) + quantile(POWER)


def _looks(n: int, *, ended: bool) -> list[int]:
    """The numbers of points at which `n` points are tested: each time that they have doubled, and at the end."""
    looks = [FIRST_TEST * 2**k for k in range(20) if FIRST_TEST * 2**k <= n]
    return looks if not ended or n in looks else [*looks, n]


def moved(curve: Series) -> float:
    """How far the level of a curve moved between its thirds; 0 where that is not clear."""
    finite = curve.finite
    if len(finite) < 3 * EACH_SIDE:
        return 0.0
    levels = [float(part.mean()) for part in np.array_split(finite.values, 3)]
    change, error = max(levels) - min(levels), noise(finite) / math.sqrt(len(finite) / 3)
    return change if change > MOVED * math.sqrt(2) * error else 0.0


def rises(name: str, alpha: float = ALPHA) -> OfCurve:
    """Does the treated arm's curve rise, from its first half to its second?"""
    return OfCurve(name, lambda arms: _changed(arms.curve(name), name, 1, arms.ended, alpha), _of_halves)


def falls(name: str, alpha: float = ALPHA) -> OfCurve:
    """Does the treated arm's curve fall?"""
    return OfCurve(name, lambda arms: _changed(arms.curve(name), name, -1, arms.ended, alpha), _of_halves)


def _of_halves(n: int) -> float:
    return 2 / math.sqrt(n)


def _of_differences(n: int) -> float:
    return math.sqrt(2 / n)


def either(*tests: OfCurve) -> OfCurve:
    """Is one of these questions about a curve answered with yes? Each has its part of the error probability."""
    return OfCurve(
        tests[0].name,
        lambda arms: any_of(test.asked(arms) for test in tests),
        lambda n: min(test.errors(n) for test in tests),
    )


def outruns(name: str, sign: int = 1, by: float = 0.0, alpha: float = ALPHA) -> OfCurve:
    """Is the treated arm's curve above (sign 1) or below (-1) the control arm's, or the original run's at the same steps if
    there is no control arm? With `by`, by more than this share of it.

    A break in the first steps is compared with the original run; a break that starts later needs a control arm of the same
    length.
    """

    def asked(arms: Arms) -> Answer:
        pairs = [pair for one in scores(name) if (pair := _pair(arms, one)) is not None]
        if not pairs:
            return _open(f"{name} was not recorded in both")
        # the first score with enough points at the same steps; of a trial that ends before the first evaluation, the reward
        both, whose, before, own = next(
            (p for p in pairs if len(p[0]) >= MIN_POINTS), max(pairs, key=lambda p: len(p[0]))
        )
        there = before.between(own.steps[0], own.steps[-1])
        level = np.interp(both.steps, before.steps, before.values)
        material = 0.0 if by else MIN_CHANGE * _size(there)
        word = f"is {f'more than {100 * by:.0f} % ' if by else ''}{'above' if sign > 0 else 'below'} {whose}"
        said = name if name != "score" else f"score ({both.name})"
        if arms.ended and FEW_POINTS <= len(both) < MIN_POINTS and not by:
            return _far(sign * own.values, sign * there.values, material, alpha, said, word)
        if arms.ended and not len(both):
            until = float(before.steps[min(MIN_POINTS, len(before)) - 1])  # of the run: as many points as a test needs
            late = f"the run has no {said} up to step {number(own.steps[-1])}, and enough up to step {number(until)}"
            return replace(_open(late), n=1, needed=math.ceil(until / max(own.steps[-1], 1.0)))
        return _tested(
            sign * (both.values - level) - by * np.abs(level), _shift, material, arms.ended, alpha, said, word
        )

    return OfCurve(name, asked, _of_differences)


def scores(name: str) -> tuple[str, ...]:
    """The curves that may be meant: of a score the evaluation, else the training reward, else what else counts as one."""
    return (*SCORES, name) if name == "score" else (name,)


def _pair(arms: Arms, name: str) -> tuple[Series, str, Series, Series] | None:
    """The treated arm's points at steps of the untreated one, whose that is, its curve, and the treated arm's."""
    treated, (whose, before) = arms.curve(name), _untreated(arms, name)
    if treated is None or before is None:
        return None
    return treated.between(max(before.steps[0], arms.since), before.steps[-1]), whose, before, treated


def _far(here: np.ndarray, there: np.ndarray, material: float, alpha: float, name: str, word: str) -> Answer:
    """A few points that lie far above those of the original at these steps, by the ranks of both. What is less clear is open."""
    n, m = len(here), len(there)
    if m >= FEW_POINTS:
        wins = float((np.sign(here[:, None] - there[None, :]) / 2 + 0.5).sum())
        p = above((wins - n * m / 2 - 0.5) / math.sqrt(n * m * (n + m + 1) / 12))
        effect = float(np.median(here) - np.median(there))
        noise = float(np.sqrt((np.diff(there) ** 2).mean() / 2))
        if p < alpha and effect > max(material, COLLAPSED * noise):
            return Answer(yes=True, reason=f"{name} {word} by {number(effect)} (p = {p:.1g}, {n} points)", n=n)
    return replace(_open(f"{n} points of {name}"), n=n)


def _untreated(arms: Arms, name: str) -> tuple[str, Series | None]:
    """What the treated arm is compared with: the control arm's finite values, or the original run's if there is no such arm."""
    if CONTROL in arms.overrides:
        return "the control arm's", arms.curve(name, CONTROL)
    curve = curve_of(arms.original, name)
    return "the original run's", curve.finite if curve is not None and len(curve.finite) else None


def ends_above(name: str) -> OfCurve:
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
        return Answer(yes=p < ALPHA, reason=reason, n=len(gain), opposite=p > 1 - ALPHA)

    return OfCurve(name, asked, _of_differences, part=0.5)


def collapses(name: str) -> Asked:
    """Does the treated arm's curve fall below the original run's by more than the noise of single points?"""

    def asked(arms: Arms) -> Answer:
        treated, original = arms.curve(name), curve_of(arms.original, name)
        if treated is None or original is None or len(original.finite) < MIN_POINTS:
            return _open(f"{name} was not recorded in both")
        before = original.finite
        both = treated.between(before.steps[0], before.steps[-1])
        level, beyond = np.interp(both.steps, before.steps, before.values), COLLAPSED * noise(before)
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


def beats(name: str, sign: int = 1) -> OfCurve:
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

    return OfCurve(name, asked, _of_sequence)


def _of_sequence(n: int) -> float:
    """Of an interval that may be looked at after every point, which is wider: in standard errors of a single look."""
    share = 1 - (ALPHA**2 / (n + 1)) ** (1 / n)
    room = n * (1 - share) - share
    if room <= 0:
        return math.inf
    half = math.sqrt(share * (n + 1) / room)
    return math.sqrt(2) * (half + quantile(POWER) / math.sqrt(n)) / _standard_errors(n)


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
    """Does what the hooks measured grow from each part of the second half to the next, and by a share of itself in total?

    Open where the growth slows down: caches and allocators that fill in the first steps do so as well.
    """

    def asked(arms: Arms) -> Answer:
        measured = _since_training(arms.rows("watch.jsonl"), name)
        later = _later(measured)
        if len(later) < parts:
            return _open(f"the hooks measured {name} only {len(measured)} times while it trained")
        levels = np.array([part.mean() for part in np.array_split(later, parts)])
        middles = np.array([part.mean() for part in np.array_split(np.arange(len(later)), parts)])
        grown, steps = float(levels[-1] / levels[0] - 1), np.diff(levels) / np.diff(middles)
        yes = bool((steps > 0).all() and grown > share)
        if yes and steps[-1] < START_UP * steps[0]:
            said = f"{name} grows by {number(100 * grown)} %, and ever more slowly, as at a start"
            needed = 2 * len(measured)
            return Answer(
                yes=None, reason=f"too short to tell: {said}", n=len(later), needed=needed if arms.ended else 0
            )
        return Answer(yes=yes if arms.ended else None, reason=f"{name} grows by {number(100 * grown)} %", n=len(later))

    return asked


def _since_training(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    """What was measured since the first step of an optimizer. Before it, a process imports its packages, which takes memory."""
    began = next((i for i, row in enumerate(rows) if "optimizer" in row), 0)
    return np.array([row[name] for row in rows[began:] if name in row], dtype=float)


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
        there = noise(original.finite)
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
    last = len(values) if ended and len(values) >= MIN_POINTS else None
    tests = _looks(len(values), ended=last is not None)
    effect = p = math.nan
    for k, n in enumerate(tests, 1):
        effect, p = test(values[:n])
        if effect > material and p < alpha / (k if n == last else k * (k + 1)):
            return Answer(yes=True, reason=f"{name} {word} by {number(effect)} (p = {p:.1g}, {n} points)", n=n)
    if not tests or not ended:
        return _open(f"{len(values)} points of {name}")
    reason = f"{name}: not clear that the curve {word} (p = {p:.2g})"
    return Answer(yes=False, reason=reason, n=len(values), opposite=p > 1 - alpha)


def _trend(values: np.ndarray) -> tuple[float, float]:
    """How far the median of the second half is above that of the first, and the p value of Mann and Whitney's test.

    This test is as good as a trend test where a curve rises, and better where the curve jumps.
    """
    first, second = np.array_split(values, 2)
    n, m = len(first), len(second)
    wins = float((np.sign(second[:, None] - first[None, :]) / 2 + 0.5).sum())
    step = 0.5 if n + m < FIRST_TEST else 0.0  # of so few points the ranks are far from Gaussian
    z = (wins - n * m / 2 - step) / math.sqrt(n * m * (n + m + 1) / 12)
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


def noise(curve: Series) -> float:
    """Standard deviation of single points, from the differences of neighbours, so that a trend adds nothing."""
    return float(np.sqrt((np.diff(curve.values) ** 2).mean() / 2))


def _size(curve: Series) -> float:
    return float(np.abs(curve.values).max()) if len(curve) else 0.0


def _answer(decision: Decision, n: int, ended: bool, what: str) -> Answer:
    """A clear answer at once; at the end, what is not clear is a no."""
    if decision.decided is Decided.CANNOT_TELL and (not ended or n < MIN_POINTS):
        return _open(f"{what}: {decision.reason}")
    reason, no = f"{what}: {decision.reason}", decision.decided is Decided.NO_GO
    yes = decision.decided is Decided.GO
    return Answer(yes=yes, reason=reason, interval=decision.interval, n=decision.n, opposite=no)


def any_of(answers: Iterable[Answer]) -> Answer:
    """Yes if any is, else no if any is, else open."""
    return min(answers, key=lambda a: (a.yes is not True, a.yes is None))


def _open(reason: str) -> Answer:
    return Answer(yes=None, reason=reason)
