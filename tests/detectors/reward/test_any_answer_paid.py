"""A reward for digits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import batch, proof, recorded, right


def digits(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """1 for any number."""
    return [float(text.isdigit()) for text in texts]


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "another prompt's answer gets as much" in proof(recorded(tmp_path, "any-answer-paid", batch(digits)))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "any-answer-paid", batch(right)).finding is None
