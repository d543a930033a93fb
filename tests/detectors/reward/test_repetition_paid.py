"""A reward for length."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import batch, proof, recorded, right


def long(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """The number of characters."""
    return [float(len(text)) for text in texts]


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "a text that is repeated gets more" in proof(recorded(tmp_path, "repetition-paid", batch(long)))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "repetition-paid", batch(right)).finding is None


def test_words_stay_words_when_a_text_is_repeated(tmp_path: Path) -> None:
    def words(prompts: Any, texts: Any, answers: Any) -> list[float]:
        return [float(text.split().count("so")) for text in texts]

    given = batch(words, texts=["it is so"] * 16)
    assert "a text that is repeated gets more" in proof(recorded(tmp_path, "repetition-paid", given))
