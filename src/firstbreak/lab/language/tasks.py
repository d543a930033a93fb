"""Tasks whose answers can be checked: a problem, a demonstration of it, and a grade for any completion.

Every task shares one alphabet, one character a token. A completion is written `<filler><answer>`: dots may stand before
the answer (they are to this lab what a chain of thought is to a larger model), and nothing may follow it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

FILLER = "."
ALPHABET = "0123456789+=:.!?abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Problem:
    """One prompt with its only right answer."""

    prompt: str
    answer: str


@dataclass(frozen=True)
class Task:
    """A family of problems."""

    name: str
    make: Callable[[random.Random], Problem]
    max_filler: int = 0  #: demonstrations carry between 0 and this many dots before the answer

    def problems(self, seed: int, n: int) -> list[Problem]:
        """`n` problems, the same for the same seed."""
        rng = random.Random(f"{self.name}/{seed}")
        return [self.make(rng) for _ in range(n)]

    def demonstration(self, problem: Problem, rng: random.Random) -> str:
        """A right completion, with as much filler as chance has it."""
        return FILLER * rng.randint(0, self.max_filler) + problem.answer


def answer_of(completion: str) -> str:
    """What is left of a completion when its filler is taken away."""
    return completion.lstrip(FILLER)


def is_correct(problem: Problem, completion: str) -> bool:
    """Whether the completion is filler followed by exactly the right answer."""
    return answer_of(completion) == problem.answer


def is_well_formed(problem: Problem, completion: str) -> bool:
    """Whether the completion has the shape of an answer: the right number of digits and nothing else."""
    answer = answer_of(completion)
    return len(answer) == len(problem.answer) and answer.isdigit()


def _digits(rng: random.Random, n: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(n))


def sort(n: int = 5, max_filler: int = 0) -> Task:
    """Write the digits in ascending order: `sort:52731=` -> `12357`."""

    def make(rng: random.Random) -> Problem:
        digits = _digits(rng, n)
        return Problem(f"sort:{digits}=", "".join(sorted(digits)))

    return Task("sort", make, max_filler)


def reverse(n: int = 5, max_filler: int = 0) -> Task:
    """Write the digits backwards: `flip:52731=` -> `13725`."""

    def make(rng: random.Random) -> Problem:
        digits = _digits(rng, n)
        return Problem(f"flip:{digits}=", digits[::-1])

    return Task("reverse", make, max_filler)
