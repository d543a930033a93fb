"""Questions about curves, of which it is known before the trial how small a difference they can show."""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import partial

import numpy as np

from firstbreak.engine.questions.arms import CONTROL, Answer, Arms, Named, about, any_of, curve_of, unanswered, unnamed
from firstbreak.engine.questions.ranks import EACH_SIDE, FIRST_TEST, jump, noise, shift, size, trend
from firstbreak.engine.stats.normal import above, quantile
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.sequential import ALPHA, Decided, Decision, decide
from firstbreak.model import Series
from firstbreak.values import dataclass, replace
from firstbreak.words import number

MIN_POINTS = 6  #: points of a curve: with fewer, a question is open (convention)
FEW_POINTS = 4  #: points of a curve: with fewer, two curves that lie apart do so by chance too often (1 in 20 with 3)
MOST_POINTS = 100_000  #: of a curve (bounds a search)
POWER = 0.8  #: probability with which a difference of the smallest visible size is found (convention)
EFFICIENCY = 0.955  #: of rank tests, against those that know that the noise is Gaussian (3 / pi)
MOVED = 3.0  #: standard errors between thirds of a curve that has moved (convention)
#: the scores that arms are compared by: the same one on both sides
SCORES = ("eval_score", "training_score")
MIN_RANKS = 5  #: signed ranks: fewer all have one sign by chance too often (1 in 16)
MIN_GAIN = 0.05  #: share of the control's level: a fix of the cause gains more (convention)
COLLAPSED = 3.0  #: standard deviations of single points below the original (convention)
MIN_CHANGE = 0.02  #: share of the curve's largest value: smaller changes do not count (convention)


@dataclass(frozen=True)
class OfCurve(Named):
    """A question about a curve, of which it is known before the trial how small a difference it can show."""

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
            reason = f"too short to tell: {answer.reason}; {few}"
            return replace(answer, yes=None, reason=reason, needed=self.enough(change, spread))
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
    return OfCurve(name, lambda arms: changed(arms.curve(name), name, 1, arms.ended, alpha), _of_halves)


def falls(name: str, alpha: float = ALPHA) -> OfCurve:
    """Does the treated arm's curve fall?"""
    return OfCurve(name, lambda arms: changed(arms.curve(name), name, -1, arms.ended, alpha), _of_halves)


def _of_halves(n: int) -> float:
    return 2 / math.sqrt(n)


def _of_differences(n: int) -> float:
    return math.sqrt(2 / n)


@about(partial(OfCurve, errors=_of_differences))
def outruns(arms: Arms, name: str, sign: int = 1, by: float = 0.0, alpha: float = ALPHA) -> Answer:
    """Is the treated arm's curve above (sign 1) or below (-1) the control arm's, or the original run's at the same steps if
    there is no control arm? With `by`, by more than this share of it.

    A break in the first steps is compared with the original run; a break that starts later needs a control arm of the same
    length.
    """
    pairs = [pair for one in scores(name) if (pair := _pair(arms, one)) is not None]
    if not pairs:
        return unanswered(f"{name} was not recorded in both")
    # the first score with enough points at the same steps; of a trial that ends before the first evaluation, the reward
    both, whose, before, own = next((p for p in pairs if len(p[0]) >= MIN_POINTS), max(pairs, key=lambda p: len(p[0])))
    there = before.between(own.steps[0], own.steps[-1])
    level = np.interp(both.steps, before.steps, before.values)
    material = 0.0 if by else MIN_CHANGE * size(there)
    word = f"is {f'more than {100 * by:.0f} % ' if by else ''}{'above' if sign > 0 else 'below'} {whose}"
    said = name if name != "score" else f"score ({both.name})"
    if arms.ended and FEW_POINTS <= len(both) < MIN_POINTS and not by:
        return _far(sign * own.values, sign * there.values, material, alpha, said, word)
    if arms.ended and not len(both):
        until = float(before.steps[min(MIN_POINTS, len(before)) - 1])  # of the run: as many points as a test needs
        late = f"the run has no {said} up to step {number(own.steps[-1])}, and enough up to step {number(until)}"
        return replace(unanswered(late), n=1, needed=math.ceil(until / max(own.steps[-1], 1.0)))
    return _tested(sign * (both.values - level) - by * np.abs(level), shift, material, arms.ended, alpha, said, word)


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
        effect = float(median(here) - median(there))
        noise = float(np.sqrt((np.diff(there) ** 2).mean() / 2))
        if p < alpha and effect > max(material, COLLAPSED * noise):
            return Answer(yes=True, reason=f"{name} {word} by {number(effect)} (p = {p:.1g}, {n} points)", n=n)
    return replace(unanswered(f"{n} points of {name}"), n=n)


def _untreated(arms: Arms, name: str) -> tuple[str, Series | None]:
    """What the treated arm is compared with: the control arm's finite values, or the original run's if there is no such arm."""
    if CONTROL in arms.overrides:
        return "the control arm's", arms.curve(name, CONTROL)
    curve = curve_of(arms.original, name)
    return "the original run's", curve.finite if curve is not None and len(curve.finite) else None


@about(partial(OfCurve, errors=_of_differences, part=0.5))
def ends_above(arms: Arms, name: str) -> Answer:
    """Is the second half of the treated arm's curve above the control arm's, by more than a fix must gain?

    Only the second half counts, because a break may start late.
    """
    treated, control = arms.curve(name), arms.curve(name, CONTROL)
    if treated is None or control is None:
        return unanswered(f"{name} was not recorded in both arms")
    both = treated.between(control.steps[0], control.steps[-1])
    level = np.interp(both.steps, control.steps, control.values)
    gain, least = later_half(both.values - level), later_half(MIN_GAIN * np.abs(level))
    if not arms.ended or len(gain) < MIN_RANKS:
        return unanswered(f"{len(gain)} points in the second half of {name}")
    middle, (_, p) = median(gain), shift(gain - least)
    reason = f"{name} ends {number(abs(middle))} {'above' if middle > 0 else 'below'} the control arm's (p = {p:.2g})"
    return Answer(yes=p < ALPHA, reason=reason, n=len(gain), opposite=p > 1 - ALPHA)


@about(Named)
def collapses(arms: Arms, name: str) -> Answer:
    """Does the treated arm's curve fall below the original run's by more than the noise of single points?"""
    treated, original = arms.curve(name), curve_of(arms.original, name)
    if treated is None or original is None or len(original.finite) < MIN_POINTS:
        return unanswered(f"{name} was not recorded in both")
    before = original.finite
    both = treated.between(before.steps[0], before.steps[-1])
    level, beyond = np.interp(both.steps, before.steps, before.values), COLLAPSED * noise(before)
    if before.values.min() >= 0 and median(level) <= beyond:
        return unanswered(f"{name} of the original run is too near to 0 to fall")
    word = f"is below the original run's, beyond a noise of {number(beyond)},"
    return _tested(level - both.values - beyond, shift, 0.0, arms.ended, ALPHA, name, word)


@about(unnamed)
def moves(arms: Arms, *names: str, alpha: float = ALPHA) -> Answer:
    """Does the level of any of these curves change in the treated arm, up or down?"""
    answers = [
        changed(curve, name, sign, arms.ended, alpha / (2 * len(names)))
        for name in names
        if (curve := arms.curve(name)) is not None
        for sign in (1, -1)
    ]
    return any_of(answers) if answers else unanswered(f"none of {', '.join(names)} was recorded")


@about(Named)
def jumps(arms: Arms, name: str, alpha: float = ALPHA) -> Answer:
    """Does the treated arm's curve jump from one level to another? Its points must be independent, so no running means."""
    curve = arms.curve(name)
    if curve is None:
        return unanswered(f"{name} was not recorded")
    return any_of(
        _tested(sign * curve.values, jump, MIN_CHANGE * size(curve), arms.ended, alpha / 2, name, word)
        for sign, word in ((1, "jumps up"), (-1, "jumps down"))
    )


def _of_sequence(n: int) -> float:
    """Of an interval that may be looked at after every point, which is wider: in standard errors of a single look."""
    share = 1 - (ALPHA**2 / (n + 1)) ** (1 / n)
    room = n * (1 - share) - share
    if room <= 0:
        return math.inf
    half = math.sqrt(share * (n + 1) / room)
    return math.sqrt(2) * (half + quantile(POWER) / math.sqrt(n)) / _standard_errors(n)


@about(partial(OfCurve, errors=_of_sequence))
def beats(arms: Arms, name: str, sign: int = 1) -> Answer:
    """Is the treated arm's curve above (sign 1) or below (-1) the control arm's, step by step?"""
    treated, control = arms.curve(name), arms.curve(name, CONTROL)
    if treated is None or control is None:
        return unanswered(f"{name} was not recorded in both arms")
    both = treated.between(max(control.steps[0], arms.since), control.steps[-1])
    difference = sign * (both.values - np.interp(both.steps, control.steps, control.values))
    gained = decide(difference, MIN_CHANGE * size(control))
    return answered(gained, len(difference), arms.ended, f"{name}, treated arm against control arm")


def later_half(values: np.ndarray) -> np.ndarray:
    """The second half: a break that starts late shows there, and a break from the start as well."""
    return values[len(values) // 2 :]


def changed(curve: Series | None, name: str, sign: int, ended: bool, alpha: float = ALPHA) -> Answer:
    """A change of level, by the order of the points only, so that outliers and the shape of the curve do not matter."""
    if curve is None:
        return unanswered(f"{name} was not recorded")
    word = "rises" if sign > 0 else "falls"
    return _tested(sign * curve.values, trend, MIN_CHANGE * size(curve), ended, alpha, name, word)


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
        return unanswered(f"{len(values)} points of {name}")
    reason = f"{name}: not clear that the curve {word} (p = {p:.2g})"
    return Answer(yes=False, reason=reason, n=len(values), opposite=p > 1 - alpha)


def answered(decision: Decision, n: int, ended: bool, what: str) -> Answer:
    """A clear answer at once; at the end, what is not clear is a no."""
    if decision.decided is Decided.CANNOT_TELL and (not ended or n < MIN_POINTS):
        return unanswered(f"{what}: {decision.reason}")
    reason, no = f"{what}: {decision.reason}", decision.decided is Decided.NO_GO
    yes = decision.decided is Decided.GO
    return Answer(yes=yes, reason=reason, interval=decision.interval, n=decision.n, opposite=no)
