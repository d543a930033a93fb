"""Tasks whose answers can be checked: a problem, a demonstration of it, and a grade for any completion.

All tasks share one alphabet, one character a token. A completion is written `<filler><answer>`: dots may stand before
the answer (they are to this lab what a chain of thought is to a larger model), and nothing may follow it.

A tenth of all problems is held out: neither the warm-up nor the training ever draws one of them.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

FILLER = "."
ALPHABET = "0123456789+=:.!?>abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Problem:
    """One prompt with its only right answer."""

    prompt: str
    answer: str
    min_filler: int = 0  #: dots that must stand before the answer: work that has to be shown
    hidden: str = ""  #: what an environment knows and the prompt does not say


class Environment(Protocol):
    """Something that answers while a completion is being written."""

    def respond(self, problem: Problem, text: str) -> str:
        """The one character with which it answers the text so far; empty where it waits."""

    def observed(self, text: str) -> list[bool]:
        """Which characters of a text the environment has written."""

    def statistics(self, problem: Problem, text: str) -> dict[str, float]:
        """What a log wants to know of an episode, by signal."""


def accuracy(problem: Problem, completion: str) -> float:
    """1 for enough filler followed by exactly the right answer, else 0."""
    answer = answer_of(completion)
    return float(answer == problem.answer and len(completion) - len(answer) >= problem.min_filler)


@dataclass(frozen=True)
class Task:
    """A family of problems whose prompts are all equally long."""

    name: str
    make: Callable[[random.Random], Problem]
    max_filler: int = 0  #: demonstrations carry between 0 and this many dots before the answer
    grade: Callable[[Problem, str], float] = accuracy  #: how good a completion truly is, from 0 to 1
    environment: Environment | None = None

    def draw(self, rng: random.Random, n: int) -> list[Problem]:
        """`n` problems to learn from."""
        return self._draw(rng, n, held_out=False)

    def held_out(self, n: int) -> list[Problem]:
        """The same `n` problems every time, none of which is ever learned from."""
        return self._draw(random.Random(self.name), n, held_out=True)

    def _draw(self, rng: random.Random, n: int, held_out: bool) -> list[Problem]:
        problems: list[Problem] = []
        while len(problems) < n:
            problem = self.make(rng)
            if is_held_out(problem) == held_out:
                problems.append(problem)
        return problems

    def demonstration(self, problem: Problem, rng: random.Random) -> str:
        """A right completion, with as much filler as chance has it."""
        return FILLER * rng.randint(0, self.max_filler) + problem.answer


def is_held_out(problem: Problem) -> bool:
    """Whether the problem belongs to the tenth that is kept for evaluation."""
    return zlib.crc32(problem.prompt.encode()) % 10 == 0


def answer_of(completion: str) -> str:
    """What is left of a completion when its filler is taken away."""
    return completion.lstrip(FILLER)


def well_formed(problem: Problem, completion: str) -> float:
    """1 for what looks like an answer: digits, letters and marks where the right one has them. Else 0."""
    return float(_shape(answer_of(completion)) == _shape(problem.answer))


def _shape(text: str) -> str:
    return "".join("9" if c.isdigit() else "a" if c.isalpha() else c for c in text)


def _digits(rng: random.Random, n: int) -> str:
    return "".join(rng.choices("0123456789", k=n))


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


def add(max_filler: int = 4, min_filler: int = 0) -> Task:
    """Add two numbers of two digits, the last digit first: `58+67=` -> `521`."""

    def make(rng: random.Random) -> Problem:
        a, b = rng.randint(10, 99), rng.randint(10, 99)
        return Problem(f"{a}+{b}=", f"{a + b:03d}"[::-1], min_filler)

    return Task(f"add{min_filler or ''}", make, max_filler)


def tag(n: int = 4) -> Task:
    """Sort letters and close the answer with an exclamation mark: `form:cabd=` -> `>abcd!`. Format counts."""

    def make(rng: random.Random) -> Problem:
        letters = "".join(rng.choices("abcdefgh", k=n))
        return Problem(f"form:{letters}=", f">{''.join(sorted(letters))}!")

    return Task("tag", make)
