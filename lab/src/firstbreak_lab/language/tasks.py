"""Tasks whose answers can be checked: a problem, a demonstration, and a grade for any completion.

All tasks use one alphabet, with one token per character. A completion is `<filler><answer>`. Dots may come before the
answer (they stand for the chain of thought of a larger model). Nothing may follow the answer.

A tenth of all problems is held out. Warm-up and training never use a held-out problem.
"""

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

FILLER = "."
ALPHABET = "0123456789+=:.!?>abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class TaskProblem:
    """One prompt and its only right answer."""

    prompt: str
    answer: str
    min_filler: int = 0  #: dots that must come before the answer (required reasoning)
    hidden: str = ""  #: known to the environment and not part of the prompt


class Environment(Protocol):
    """An environment that answers while the policy generates a completion."""

    def respond(self, problem: TaskProblem, text: str) -> str:
        """The answer to the text so far: one character, or an empty string if the policy continues."""

    def observed(self, text: str) -> list[bool]:
        """For each character of a text, whether the environment wrote it."""

    def statistics(self, problem: TaskProblem, text: str) -> dict[str, float]:
        """The metrics of an episode, by signal."""


def accuracy(problem: TaskProblem, completion: str) -> float:
    """1 for enough filler followed by exactly the right answer, otherwise 0."""
    answer = answer_of(completion)
    return float(answer == problem.answer and len(completion) - len(answer) >= problem.min_filler)


@dataclass(frozen=True)
class Task:
    """A family of problems. All prompts have the same length."""

    name: str
    make: Callable[[random.Random], TaskProblem]
    max_filler: int = 0  #: largest number of dots before the answer in a demonstration
    grade: Callable[[TaskProblem, str], float] = accuracy  #: true quality of a completion, from 0 to 1
    environment: Environment | None = None

    def draw(self, rng: random.Random, n: int) -> list[TaskProblem]:
        """`n` training problems."""
        return self._draw(rng, n, held_out=False)

    def held_out(self, n: int) -> list[TaskProblem]:
        """`n` held-out problems, the same ones every time."""
        return self._draw(random.Random(self.name), n, held_out=True)

    def _draw(self, rng: random.Random, n: int, held_out: bool) -> list[TaskProblem]:
        problems: list[TaskProblem] = []
        while len(problems) < n:
            problem = self.make(rng)
            if is_held_out(problem) == held_out:
                problems.append(problem)
        return problems

    def demonstration(self, problem: TaskProblem, rng: random.Random) -> str:
        """A right completion, with a random amount of filler."""
        return FILLER * rng.randint(0, self.max_filler) + problem.answer


def is_held_out(problem: TaskProblem) -> bool:
    """Whether the problem is one of the tenth that is only used for evaluation."""
    return zlib.crc32(problem.prompt.encode()) % 10 == 0


def answer_of(completion: str) -> str:
    """The completion without its filler."""
    return completion.lstrip(FILLER)


def well_formed(problem: TaskProblem, completion: str) -> float:
    """1 if the form of the answer is right: digits, letters and marks at the same places. Otherwise 0."""
    return float(_shape(answer_of(completion)) == _shape(problem.answer))


def _shape(text: str) -> str:
    return "".join("9" if c.isdigit() else "a" if c.isalpha() else c for c in text)


def _digits(rng: random.Random, n: int) -> str:
    return "".join(rng.choices("0123456789", k=n))


def sort(n: int = 5, max_filler: int = 0) -> Task:
    """Write the digits in ascending order: `sort:52731=` -> `12357`."""

    def make(rng: random.Random) -> TaskProblem:
        digits = _digits(rng, n)
        return TaskProblem(f"sort:{digits}=", "".join(sorted(digits)))

    return Task("sort", make, max_filler)


def reverse(n: int = 5, max_filler: int = 0) -> Task:
    """Write the digits backwards: `flip:52731=` -> `13725`."""

    def make(rng: random.Random) -> TaskProblem:
        digits = _digits(rng, n)
        return TaskProblem(f"flip:{digits}=", digits[::-1])

    return Task("reverse", make, max_filler)


def add(max_filler: int = 4, min_filler: int = 0) -> Task:
    """Add two numbers of two digits, the last digit first: `58+67=` -> `521`."""

    def make(rng: random.Random) -> TaskProblem:
        a, b = rng.randint(10, 99), rng.randint(10, 99)
        return TaskProblem(f"{a}+{b}=", f"{a + b:03d}"[::-1], min_filler)

    return Task(f"add{min_filler or ''}", make, max_filler)


def tag(n: int = 4) -> Task:
    """Sort letters and close the answer with an exclamation mark: `form:cabd=` -> `>abcd!`. Format counts."""

    def make(rng: random.Random) -> TaskProblem:
        letters = "".join(rng.choices("abcdefgh", k=n))
        return TaskProblem(f"form:{letters}=", f">{''.join(sorted(letters))}!")

    return Task("tag", make)
