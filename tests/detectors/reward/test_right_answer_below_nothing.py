"""The number of errors as a reward."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import batch, proof, recorded, right


def errors(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """Less for the right answer."""
    return [-score for score in right(prompts, texts, answers)]


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "right answer -1, empty text 0" in proof(recorded(tmp_path, "right-answer-below-nothing", batch(errors)))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "right-answer-below-nothing", batch(right)).finding is None
