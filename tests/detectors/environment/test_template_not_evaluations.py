"""Another template in training."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded

ASKED = [f"What is {i} + 1?" for i in range(40)]


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"training_prompts": [f"Q: {i} + 1 A:" for i in range(40)], "evaluation_prompts": ASKED}
    assert "and in the evaluation" in proof(recorded(tmp_path, "template-not-evaluations", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"training_prompts": [f"What is {i} + 1?" for i in range(40)], "evaluation_prompts": ASKED}
    assert recorded(tmp_path, "template-not-evaluations", sound, sound).finding is None
