"""How a row puts a question, and answers that only rows of this folder need."""

from collections.abc import Mapping
from math import inf
from typing import Any

from firstbreak.engine import questions
from firstbreak.engine.families import Method
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import Answer, Arms, Asked, OfCurve, Question
from firstbreak.engine.stats.sequential import ALPHA


def likelihoods(chances: str) -> dict[str, float]:
    """`one-cause 0.9, another a-third 0.2, otherwise 0.04`: each number is for the names before it."""
    found: dict[str, float] = {}
    for part in chances.split(","):
        *names, number = part.split()
        found |= dict.fromkeys(names, float(number))
    return found


def ask(asks: str, answer: Asked, chances: str, **more: Any) -> Question:
    """A question; `chances` is P(yes | cause), as `likelihoods` reads it, and `more` are other fields of it."""
    yes = likelihoods(chances)
    return Question(asks=asks, answer=answer, otherwise=yes.pop("otherwise"), yes=yes, **more)


def measured(name: str, *, above: float = -inf, below: float = inf) -> Asked:
    """Is the mean of what the hooks measured above `above` and below `below`?"""
    return questions.watched(lambda mean: above < mean[name] < below, name)


def measured_apart(higher: str, lower: str, by: float) -> Asked:
    """Is the mean of one of the hooks' measurements above another's by more than `by`?"""
    return questions.watched(lambda mean: mean[higher] > mean[lower] + by, higher, lower)


def right_pays_less(arms: Arms) -> Answer:
    """Do right answers get a lower reward than wrong answers or an empty answer?"""
    names = ("right", "other", "empty")
    return questions.watched(lambda mean: mean["right"] < max(mean["other"], mean["empty"]) - 0.02, *names)(arms)


def right_pays_nothing(arms: Arms) -> Answer:
    """Do right answers get the same as an empty answer?"""
    return questions.watched(lambda mean: mean["right"] == mean["empty"], "right", "empty")(arms)


def form_pays(arms: Arms) -> Answer:
    """Does a wrong answer in the right format get more than half of the reward?"""

    def half(mean: Mapping[str, float]) -> bool:
        return mean["other"] - mean["empty"] > 0.5 * (mean["right"] - mean["empty"]) > 0

    return questions.watched(half, "right", "other", "empty")(arms)


def rises_or_outruns(name: str) -> OfCurve:
    """Does the treated arm's curve rise, or lie above the control arm's or the original run's at the same steps?"""
    half = ALPHA / 2  # each has its part of the error probability
    tests = questions.rises(name, half), questions.outruns(name, alpha=half)
    return OfCurve(
        name,
        lambda arms: questions.any_of(test.asked(arms) for test in tests),
        lambda n: min(test.errors(n) for test in tests),
    )


def reward_or_score_moves(arms: Arms) -> Answer:
    """Does the training reward change its level, or the evaluation's score jump?

    A value-based method tries less and less by plan, so that its training reward moves: its greedy evaluation must not.
    """
    if Inputs(arms.original).method is Method.VALUE_BASED:
        return questions.jumps("eval_score")(arms)
    return questions.any_of(
        [questions.jumps("eval_score", ALPHA / 2)(arms), questions.moves("reward_mean", alpha=ALPHA / 2)(arms)]
    )
