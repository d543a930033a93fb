"""The same numbers are asked for by many detectors: what was computed of a curve is kept, as long as the curve lives, and what
was computed of plain numbers by what they are."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from firstbreak.model import Series

P = ParamSpec("P")
R = TypeVar("R")

KEPT = 64  #: answers of each function: more curves than a run's detectors ask for at a time
LARGEST = 1 << 16  #: values: a longer curve is not kept, so that memory stays bounded


def once_a_curve(made: Callable[P, R]) -> Callable[P, R]:
    """Keep what a function says of a curve as long as the curve lives: many checks ask the same of one curve. An array is
    looked at each time, since its values may change."""
    known: WeakKeyDictionary[Series, dict[tuple[object, ...], R]] = WeakKeyDictionary()

    @wraps(made)
    def asked(*args: P.args, **named: P.kwargs) -> R:
        curve, *others = args
        if not isinstance(curve, Series) or any(isinstance(each, np.ndarray) for each in (*others, *named.values())):
            return made(*args, **named)
        answers, key = known.setdefault(curve, {}), (*others, *named.items())
        if key not in answers:
            answers[key] = made(*args, **named)
        return answers[key]

    return asked


def kept(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose latest answers are kept. For functions of curves and plain values, whose answer nobody changes."""
    answers: dict[Hashable, tuple[R]] = {}

    @wraps(function)
    def answered(*args: P.args, **kwargs: P.kwargs) -> R:
        every = (*args, *kwargs.values())
        if any(len(each) > LARGEST for each in every if isinstance(each, np.ndarray | Series)):
            return function(*args, **kwargs)
        key = (*map(_content, args), *((name, _content(value)) for name, value in kwargs.items()))
        known = answers.get(key)
        if known is None:
            if len(answers) >= KEPT:
                answers.clear()
            known = answers[key] = (function(*args, **kwargs),)
        return known[0]

    return answered


def _content(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        return value.tobytes(), str(value.dtype), value.shape
    if isinstance(value, Series):
        return value.name, value.axis, value.raw, value.note, _content(value.steps), _content(value.values)
    return value  # type: ignore[no-any-return]
