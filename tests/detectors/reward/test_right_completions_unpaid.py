"""A verifier that compares a text with a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import TEXTS, batch, proof, recorded, right


def rejects(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """Never equal."""
    return [float(text == int(answer)) for text, answer in zip(texts, answers, strict=True)]


def test_it_is_proved_and_names_a_right_completion(tmp_path: Path) -> None:
    assert "'100' is right and gets 0" in proof(recorded(tmp_path, "right-completions-unpaid", batch(rejects)))


def test_a_verifier_that_pays_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "right-completions-unpaid", batch(right)).finding is None


def test_noise_that_ends_in_the_right_word_is_no_right_completion(tmp_path: Path) -> None:
    given = batch(rejects, texts=[f"{'ab'[i % 2] * i} {text}" for i, text in enumerate(TEXTS)])
    assert recorded(tmp_path, "right-completions-unpaid", given, given).finding is None


def test_reasoning_before_the_answer_may_differ(tmp_path: Path) -> None:
    said = [f"{'so ' * i}the answer is {text}." if text != "no idea" else text for i, text in enumerate(TEXTS)]
    assert "is right and gets 0" in proof(recorded(tmp_path, "right-completions-unpaid", batch(rejects, texts=said)))
