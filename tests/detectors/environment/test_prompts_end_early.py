"""Prompts without their end."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded

ASKED = [f"What is {i} + 1? Answer:" for i in range(40)]


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"training_prompts": [text[:-8] for text in ASKED], "evaluation_prompts": ASKED}
    assert "and in the evaluation" in proof(recorded(tmp_path, "prompts-end-early", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"training_prompts": ASKED, "evaluation_prompts": ASKED}
    assert recorded(tmp_path, "prompts-end-early", sound, sound).finding is None
