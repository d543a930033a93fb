"""Right answers of other prompts, found by scoring completions against them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.detectors.recorded import recorded

ID = "answers-not-of-prompts"
PROMPTS, COPIES = 16, 4


def batch(seed: int, *, shift: int = 0, knows: float = 0.5, constant: bool = False) -> dict[str, Any]:
    """A policy that gives the right digit with a chance of `knows`, graded against the digit of the prompt `shift` rows on."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, 10, PROMPTS)
    said = np.where(rng.random((PROMPTS, COPIES)) < knows, own[:, None], rng.integers(0, 10, (PROMPTS, COPIES)))
    texts = [f"answer : {3 if constant else word}" for word in said.ravel()]
    answers = [str(digit) for digit in np.roll(own, -shift).repeat(COPIES)]

    def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
        return np.array([float(other.get(i, texts[i])[-1:] == answers[i]) for i in rows])

    return {
        "prompts": [f"{seed} {k}" for k in range(PROMPTS) for _ in range(COPIES)],
        "completions": texts,
        "references": answers,
        "rewards": score(range(len(texts)), {}),
        "score": score,
        "group": COPIES,
    }


def test_answers_of_other_prompts_are_found(tmp_path: Path) -> None:
    finding = recorded(tmp_path, ID, *(batch(k, shift=3, knows=0.8) for k in range(12))).finding
    assert finding is not None
    assert "answer five prompts by hand" in finding.message


def test_a_policy_that_is_often_wrong_is_not_accused(tmp_path: Path) -> None:
    assert recorded(tmp_path, ID, *(batch(k, knows=0.3) for k in range(12))).finding is None


def test_nothing_is_said_of_a_policy_that_does_not_read_its_prompt(tmp_path: Path) -> None:
    assert recorded(tmp_path / "a", ID, *(batch(k, knows=0.0) for k in range(12))).finding is None
    assert recorded(tmp_path / "b", ID, *(batch(k, shift=3, constant=True) for k in range(12))).finding is None


def test_a_few_measurements_are_too_few(tmp_path: Path) -> None:
    assert recorded(tmp_path, ID, *(batch(k, shift=3, knows=0.8) for k in range(3))).finding is None
