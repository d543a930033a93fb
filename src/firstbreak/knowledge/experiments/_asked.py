"""How a file of this folder puts a question: `chances` is P(yes | cause), as `likelihoods` reads it."""

import inspect
from collections.abc import Callable
from math import inf
from typing import Any

from firstbreak.engine.questions import Asked, Question, is_set, outruns, watched


def likelihoods(chances: str) -> dict[str, float]:
    """`one-cause 0.9, another a-third 0.2, otherwise 0.04`: each number is for the names before it."""
    found: dict[str, float] = {}
    for part in chances.split(","):
        *names, number = part.split()
        found |= dict.fromkeys(names, float(number))
    return found


def ask(asks: str, answer: Asked, chances: str, **more: Any) -> Question:
    """A question; `more` are other fields of it."""
    yes = likelihoods(chances)
    return Question(asks=asks, answer=answer, otherwise=yes.pop("otherwise"), yes=yes, **more)


def better_score(chances: str, *, than: str = "the control arm") -> Question:
    """Is the score better than in another run, which is `than` in words?"""
    return ask(f"is the score better than in {than}?", outruns("score"), chances)


def setting(
    asks: str,
    name: str,
    chances: str,
    *,
    below: float = -inf,
    above: float = inf,
    least: float = inf,
    off: bool = False,
) -> Question:
    """Is the value of a setting in force below `below`, above `above`, or `least` and more? `off`: the answer where it is off."""

    def unusual(value: float | None) -> bool:
        return off if value is None else value < below or value > above or value >= least

    return ask(asks, is_set(name, unusual), chances, needs=name)


def hooked(asks: str, holds: Callable[..., bool], chances: str, *, needs: str = "hooks") -> Question:
    """Does this hold for the means of what the hooks measured? The parameters of `holds` name the measurements."""
    answer = watched(lambda mean: holds(**mean), *inspect.signature(holds).parameters)
    return ask(asks, answer, chances, needs=needs)
