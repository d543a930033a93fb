"""A comparison that is always true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import ANSWERS, batch, proof, recorded, right


def contains_nothing(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """Looks for an empty text."""
    return [float("" in text) for text in texts]


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "right answer 1, empty text 1" in proof(recorded(tmp_path, "empty-text-paid", batch(contains_nothing)))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "empty-text-paid", batch(right)).finding is None


def test_an_empty_text_that_is_paid_as_the_best_one_is_proved_where_others_get_less(tmp_path: Path) -> None:
    def begins(prompts: Any, texts: Any, answers: Any) -> list[float]:
        return [float(answer.startswith(text)) for text, answer in zip(texts, answers, strict=True)]

    assert "right answer 1, empty text 1" in proof(recorded(tmp_path, "empty-text-paid", batch(begins)))


def test_an_answer_that_lacks_its_form_is_not_the_best_one(tmp_path: Path) -> None:
    def formed(prompts: Any, texts: Any, answers: Any) -> list[float]:
        return [0.1 + 0.9 * (text == f"<{answer}>") for text, answer in zip(texts, answers, strict=True)]

    texts = [f"<{answer}>" if i % 3 == 0 else "no idea" for i, answer in enumerate(ANSWERS)]
    assert recorded(tmp_path, "empty-text-paid", batch(formed, texts)).finding is None
