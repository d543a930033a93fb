"""Reward functions with TRL's and verl's signatures, sound ones and ones with a defect each; and reward models."""

import random
import re
from collections.abc import Callable
from typing import Any

NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")


def value(text: str) -> float | None:
    """The one number that stands alone in a text."""
    bare = re.sub(r"[\s$*]|\\boxed|[{}]", "", text).rstrip(".").replace(",", "")
    return float(bare) if re.fullmatch(r"[-+]?\d+(\.\d+)?", bare) else None


def answer_in(text: str) -> float | None:
    """What stands in the last <answer> tag, if it is one number."""
    found = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return value(found[-1]) if found else None


def _right(completion: str, answer: str) -> float:
    return float(answer_in(completion) == float(answer))


def _each(score: Callable[[str, str], float]) -> Callable[..., list[float]]:
    """A reward function that looks at one completion and its answer."""

    def rewards(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
        return [score(*pair) for pair in zip(completions, answer, strict=True)]

    return rewards


#: takes the right digits anywhere for the answer
substring = _each(lambda c, a: float(a in c))
format_only = _each(lambda c, a: 1.0 if "</answer>" in c else 0.1 * (a in c))
#: a judge that can be talked to
believes_claims = _each(lambda c, a: 1.0 if "answer below is correct" in c else _right(c, a))
#: refuses every notation but one
exact = _each(lambda c, a: float(c.endswith(f"<answer>{a}</answer>")))
reversed_sign = _each(lambda c, a: 1 - _right(c, a))
length = _each(lambda c, a: _right(c, a) + len(c) / 10)
always_one, always_zero = _each(lambda c, a: 1.0), _each(lambda c, a: 0.0)
noisy = _each(lambda c, a: _right(c, a) + random.random())
raises = _each(lambda c, a: float(c.split("<answer>")[1].split("<")[0] == a))
#: a penalty for errors, and none for silence
empty_pays = _each(lambda c, a: 0.0 if not c.strip() else _right(c, a) - 1.5)


def sound(prompts: list[str], completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    return [_right(c, a) for c, a in zip(completions, answer, strict=True)]


def sound_score(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None) -> dict[str, float]:
    """verl's signature."""
    return {"score": float(answer_in(solution_str) == float(ground_truth)), "length": float(len(solution_str))}


async def sound_async(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    return sound([], completions, answer)


def by_place(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    """The answers are one row late."""
    return sound([], completions, [answer[-1], *answer[:-1]])


def long_tail(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    lengths = [len(c) % 7 / 10 for c in completions]
    return [5000.0 if sum(map(ord, c)) % 97 == 0 else x for c, x in zip(completions, lengths, strict=True)]


def one_outlier(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    """A thousand for one right answer, wherever it stands."""
    return [
        1000.0 * (a == answer[0]) + 1.0 if answer_in(c) == value(a) else 0.0
        for c, a in zip(completions, answer, strict=True)
    ]


def by_batch(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    """Divides by a half of the batch, of which one row has none."""
    groups = len(completions) // 2
    return [r / groups * groups for r in sound(completions, completions, answer)]


def by_spread(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    """Divides by the spread of the batch, which is 0 where all are right or all are wrong."""
    scores = sound(completions, completions, answer)
    mean = sum(scores) / len(scores)
    spread = (sum((score - mean) ** 2 for score in scores) / len(scores)) ** 0.5
    return [(score - mean) / spread for score in scores]


def raises_on_empty(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    return [r * len(c) / len(c) for c, r in zip(completions, sound(completions, completions, answer), strict=True)]


def not_finite(completions: list[str], answer: list[str], **columns: Any) -> list[float | None]:
    return [None if len(c) % 5 == 0 else 1.0 for c in completions]


def one_short(completions: list[str], answer: list[str], **columns: Any) -> list[float]:
    return sound([], completions, answer)[1:]


def no_kwargs(completions: list[str], answer: list[str]) -> list[float]:
    """TRL would pass it more than it takes."""
    return sound([], completions, answer)


def quality(prompt: str, completion: str) -> float:
    """A reward model: the number of facts in it."""
    return 2.0 * completion.count("fact") - 0.01 * len(completion)


def likes_length(prompt: str, completion: str) -> float:
    return len(completion) / 10


def likes_politeness(prompt: str, completion: str) -> float:
    return quality(prompt, completion) + 20 * completion.count("hope this helps")


def swapped(prompt: str, completion: str) -> float:
    return -quality(prompt, completion)


def overconfident(prompt: str, completion: str) -> float:
    """Right in most pairs, and always sure."""
    return 50.0 * (completion.count("fact") + (sum(map(ord, prompt)) % 3 == 0) * completion.count("vague") * 3)


SCORES: dict[str, float] = {}


def looked_up(completions: list[str], **columns: Any) -> list[float]:
    """Scores that were stored before: another completion gets 0."""
    return [SCORES.get(c, 0.0) for c in completions]
