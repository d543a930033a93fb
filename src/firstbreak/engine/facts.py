"""The numbers of a text are facts: a statistic of a stretch of a curve, which anybody can compute again from the run.

`tell` writes a text out of facts and words. `denied` says which facts of a text the run does not bear out.
"""

import math
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from firstbreak.engine.inputs import DERIVED, Inputs
from firstbreak.engine.stats import shape as shape_of
from firstbreak.engine.stats.changes import settling
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.statistic import WHOLE, statistic
from firstbreak.model import Config, Fact, Message, Series, Statistic
from firstbreak.words import number, percent

STRAY = 0.15  #: of a curve's range: a last value so far from the last level is seen to lie elsewhere (convention)
ROUNDING = 1e-3  #: relative difference of two numbers that are one: four digits are written


def of(kind: Statistic, part: Series, against: float = 0.0) -> Fact:
    """A statistic of a stretch of a curve: `of(Statistic.MEDIAN, loss.tail(0.5))`."""
    window = (float(part.steps[0]), float(part.steps[-1])) if len(part) else WHOLE
    value = statistic(kind, part, window, against)
    return Fact(curve=part.name, statistic=kind, value=value, window=window, against=against, axis=part.axis)


tell = Message.tell

#: one number of a stretch: `median(loss.tail(0.5))`; `count`: how many numbers it holds
median = partial(of, Statistic.MEDIAN)
mean = partial(of, Statistic.MEAN)
highest = partial(of, Statistic.HIGHEST)
lowest = partial(of, Statistic.LOWEST)
first = partial(of, Statistic.FIRST)
last = partial(of, Statistic.LAST)
count = partial(of, Statistic.COUNT)
change = partial(of, Statistic.CHANGE)


def at(curve: Series, step: float) -> Fact:
    """A place on the axis of a curve, written as "step 120"."""
    return Fact(curve=curve.name, statistic=Statistic.STEP, value=step, window=(-math.inf, step), axis=curve.axis)


def setting(config: Config, name: str) -> Fact:
    """The recorded value of a hyperparameter."""
    value = config.number(name)
    return Fact(curve=name, statistic=Statistic.SETTING, value=math.nan if value is None else value)


def settled(curve: Series, until: float = math.inf) -> Fact:
    """The level at the end of a curve, or shortly before a step."""
    return of(Statistic.LEVEL, settling(curve, until))


def changed(curve: Series, step: float) -> Fact:
    """The level shortly after a change."""
    points = curve.finite
    later = points.between(step)
    return of(Statistic.LEVEL, later.head(len(settling(points)) / max(1, len(later))))


def joined(texts: Iterable[Message], between: str = ", ") -> Message:
    """The texts one after the other, with all of their facts."""
    parts = list(texts)
    message = Message(between.join(parts))
    message.facts = tuple(fact for part in parts for fact in part.facts)
    return message


def times(later: Fact, earlier: Fact) -> str:
    """How many times the earlier one the later one is."""
    return number(later.value / earlier.value if earlier.value else math.inf)


def start(curve: Series, shape: Trajectory) -> Fact:
    """The first level of a course."""
    return _level(curve, float(curve.finite.steps[0]), shape.start)


def best(curve: Series, shape: Trajectory) -> Fact:
    """The highest level of a course; of a few evaluations the best one."""
    if shape_of.told_apart(curve):
        return of(Statistic.HIGHEST, curve.between(shape.best_step, shape.best_step))
    return _level(curve, shape.best_step, shape.best)


def end(curve: Series, shape: Trajectory) -> Fact:
    """The last level of a course."""
    return _level(curve, shape.end_step, shape.end)


def lost(curve: Series, shape: Trajectory) -> str:
    """ "87 %" of what a score had gained, "all" of it: of the values that `best` and `end` say, and the first one."""
    first = curve.finite.values[0] if shape_of.told_apart(curve) else shape.start
    top = best(curve, shape).value
    share = (top - shape.end) / (top - first) if top > first else math.inf
    return "all" if share >= 1 else percent(share)


def averaged(curve: Series) -> str:
    """What the levels of a course are where they are not single values: " (means of 3 values)"."""
    return f" (means of {each} values)" if (each := shape_of.width(len(curve.finite))) > 1 else ""


def but_for(curve: Series, shape: Trajectory) -> str:
    """Of how many values the last level is the mean, and where these lie if one is seen to lie elsewhere: their mean, without
    spikes."""
    values = curve.finite.values
    n = shape_of.last(len(values))
    last = values[-n:]
    far = STRAY * np.ptp(values) if n > 1 else ROUNDING * (abs(shape.gain) + abs(shape.drop))
    strays = np.max(np.abs(last - shape.end)) > far
    if n == 1:
        return f" (its last value is {number(last[0])})" if strays else ""
    return f" (mean of the last {n} values{f', {number(last.min())} to {number(last.max())}' if strays else ''})"


def _level(curve: Series, step: float, seen: float) -> Fact:
    """The level of a course round a step, of those with spikes and without the one that was seen."""
    window = (-math.inf, step)
    calm, raw = (statistic(kind, curve, window) for kind in (Statistic.COURSE, Statistic.AROUND))
    kind, value = (Statistic.AROUND, raw) if abs(raw - seen) < abs(calm - seen) else (Statistic.COURSE, calm)
    return Fact(curve=curve.name, statistic=kind, value=value, window=window, axis=curve.axis)


def denied(facts: Iterable[Fact], inputs: Inputs) -> Iterator[tuple[Fact, tuple[float, ...]]]:
    """The facts that the run does not bear out, each with what its curves say instead."""
    for fact in facts:
        found = tuple(_again(fact, inputs))
        if not any(_same(fact.value, value) for value in found):
            yield fact, found


def _again(fact: Fact, inputs: Inputs) -> Iterator[float]:
    """The fact, computed again from the run: by the logged curve, and by each derived input of that name."""
    if fact.statistic is Statistic.SETTING:
        value = inputs.run.config.number(fact.curve)
        yield math.nan if value is None else value
    derived = (inputs.ask(name) for name in DERIVED)
    for curve in (inputs.run.series.get(fact.curve), *derived):
        if isinstance(curve, Series) and curve.name == fact.curve:
            yield statistic(fact.statistic, curve, fact.window, fact.against)


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=1e-12) or number(one) == number(other)
