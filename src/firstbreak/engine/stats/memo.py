"""The same numbers are asked for by many detectors: what was computed of a curve is kept, by what the curve holds."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from firstbreak.model import Series

P = ParamSpec("P")
R = TypeVar("R")

KEPT = 64  #: answers of each function: more curves than a run's detectors ask for at a time
LARGEST = 1 << 16  #: values: a longer curve is not kept, so that memory stays bounded


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
