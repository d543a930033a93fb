"""Samples with a known answer, made on the spot."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from firstbreak.audit.audit import Audit
from firstbreak.model import Outcome, Sample

WORDS = (
    "the sum", "of both", "numbers", "is found", "by adding", "tens and", "ones", "so that", "carry goes",
    "to the next",
)  # fmt: skip


def dump(
    write: Callable[[random.Random, float, int], str],
    pay: Callable[[str, bool], dict[str, float]],
    *,
    steps: int = 40,
    prompts: int = 4,
    each: int = 4,
    skill: Callable[[float], float] = lambda t: 0.3 + 0.5 * t,
    seed: int = 0,
    reference: bool = True,
) -> Iterator[Sample]:
    """`write(rng, t, right answer or a wrong one) -> completion`; `pay(completion, right) -> components`; t from 0 to 1."""
    rng = random.Random(seed)
    for step in range(steps):
        t = step / max(1, steps - 1)
        for prompt in range(prompts):
            a, b = rng.randint(10, 99), rng.randint(10, 99)
            for _ in range(each):
                right = rng.random() < skill(t)
                answer = a + b if right else a + b + rng.randint(1, 9)
                text = write(rng, t, answer)
                rewards = pay(text, right)
                yield Sample(
                    step=float(step),
                    prompt=f"What is {a} + {b}?",
                    completion=text,
                    reward=sum(rewards.values()),
                    rewards=rewards,
                    group=f"{step}-{prompt}",
                    meta={"answer": str(a + b)} if reference else {},
                )


def series(make: Callable[[random.Random, float], Sample], steps: int = 30, each: int = 16) -> Iterator[Sample]:
    """Samples of four tasks at each step; `make(rng, t)` writes one, t from 0 to 1."""
    rng = random.Random(0)
    for step in range(steps):
        for i in range(each):
            sample = make(rng, step / (steps - 1))
            yield replace(sample, step=float(step), prompt=f"task {i // 4}")


def row(found: Audit, name: str) -> Outcome:
    """What one row says."""
    return next(o for o in found.outcomes if o.detector == name)


def plain(rng: random.Random, t: float, answer: int) -> str:
    """Thirty or so words, then the answer, whatever t."""
    return " ".join(rng.choices(WORDS, k=rng.randint(20, 40))) + f"\n#### {answer}"


def longer_and_longer(rng: random.Random, t: float, answer: int) -> str:
    """The same, growing to five times the length."""
    return " ".join(rng.choices(WORDS, k=round(rng.randint(20, 40) * (1 + 4 * t)))) + f"\n#### {answer}"


def honest(text: str, right: bool) -> dict[str, float]:
    return {"accuracy": float(right)}


def by_length(text: str, right: bool) -> dict[str, float]:
    return {"accuracy": float(right), "thoroughness": len(text) / 200}
