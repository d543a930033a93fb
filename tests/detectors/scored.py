"""Batches whose rewards a function made, so that it can be asked again."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.detectors.recorded import proof, recorded

__all__ = ["ANSWERS", "PROMPTS", "TEXTS", "batch", "proof", "recorded", "right"]

ANSWERS = [str(100 + 2 * (i // 4)) for i in range(16)]
PROMPTS = [f"What is {answer} - 0?" for answer in ANSWERS]
TEXTS = [answer if i % 3 == 0 else "no idea" for i, answer in enumerate(ANSWERS)]

Judge = Callable[[Sequence[str], Sequence[str], Sequence[str]], Sequence[float]]


def right(prompts: Sequence[str], texts: Sequence[str], answers: Sequence[str]) -> list[float]:
    """1 for the right answer."""
    return [float(text == answer) for text, answer in zip(texts, answers, strict=True)]


def batch(judge: Judge, texts: Sequence[str] = TEXTS, answers: Sequence[str] = ANSWERS) -> dict[str, Any]:
    """A batch of four prompts with four completions each, and the means to score it again."""

    def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
        asked = [other.get(i, texts[i]) for i in rows]
        return np.array([judge([PROMPTS[i] for i in rows], asked, [answers[i] for i in rows])]).T

    known = {"prompts": PROMPTS, "completions": list(texts), "references": list(answers), "group": 4}
    return {**known, "rewards": score(range(len(texts)), {}), "score": score}
