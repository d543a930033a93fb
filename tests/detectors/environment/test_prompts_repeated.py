"""One prompt in every row."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"training_prompts": ["What is 1 + 1?"] * 40}
    assert "1 different prompts in 40 rows" in proof(recorded(tmp_path, "prompts-repeated", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"training_prompts": [f"What is {i % 40} + 1?" for i in range(512)]}  # all that a small task has
    assert recorded(tmp_path, "prompts-repeated", sound, sound).finding is None


def test_a_few_prompts_are_a_fault_only_where_the_evaluation_has_many(tmp_path: Path) -> None:
    few = {"training_prompts": ["1 + 1?", "1 + 2?", "2 + 2?", "2 + 1?"] * 64}
    many = {"evaluation_prompts": [f"{i} + 1?" for i in range(64)]}
    assert recorded(tmp_path, "prompts-repeated", few, few).finding is None
    assert "4 different prompts" in proof(recorded(tmp_path / "many", "prompts-repeated", few | many))
