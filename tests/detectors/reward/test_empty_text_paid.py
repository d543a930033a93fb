"""A comparison that is always true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import batch, proof, recorded, right


def contains_nothing(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """Looks for an empty text."""
    return [float("" in text) for text in texts]


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "right answer 1, empty text 1" in proof(recorded(tmp_path, "empty-text-paid", batch(contains_nothing)))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "empty-text-paid", batch(right)).finding is None
