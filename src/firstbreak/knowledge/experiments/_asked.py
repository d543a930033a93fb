"""Questions that several experiments ask: each of them says only what is its own."""

import inspect
from collections.abc import Callable, Mapping
from math import inf

from firstbreak.engine.questions import Question, is_set, outruns, watched


def better_score(*, yes: Mapping[str, float], otherwise: float = 0.08, than: str = "the control arm") -> Question:
    """Is the score better than in another run, which is `than` in words?"""
    asks = f"is the score better than in {than}?"
    return Question(asks=asks, answer=outruns("score"), yes=yes, otherwise=otherwise)


def setting(
    asks: str,
    name: str,
    *,
    yes: Mapping[str, float],
    otherwise: float,
    below: float = -inf,
    above: float = inf,
    least: float | None = None,
    off: bool = False,
) -> Question:
    """Is the value of a setting in force below `below`, above `above`, or `least` and more? `off`: the answer where it is off."""

    def unusual(value: float | None) -> bool:
        if value is None:
            return off
        return value < below or value > above or (least is not None and value >= least)

    return Question(asks=asks, answer=is_set(name, unusual), needs=name, yes=yes, otherwise=otherwise)


def hooked(
    asks: str, holds: Callable[..., bool], *, yes: Mapping[str, float], otherwise: float, needs: str = "hooks"
) -> Question:
    """Does this hold for the means of what the hooks measured? The parameters of `holds` name the measurements."""
    names = tuple(inspect.signature(holds).parameters)
    answer = watched(lambda mean: holds(**mean), *names)
    return Question(asks=asks, answer=answer, needs=needs, yes=yes, otherwise=otherwise)
