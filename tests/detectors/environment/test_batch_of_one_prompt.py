"""A batch whose rows all hold one prompt."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded

ID = "batch-of-one-prompt"
FOUR = [prompt for prompt in "abcd" for _ in range(2)]


def test_one_prompt_in_all_groups_is_proved(tmp_path: Path) -> None:
    assert "4 of 4 groups have the prompt 'a'" in proof(recorded(tmp_path, ID, {"prompts": ["a"] * 8, "group": 2}))


def test_different_prompts_are_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, ID, {"prompts": FOUR, "group": 2}, {"prompts": FOUR, "group": 2}).finding is None


def test_a_task_of_few_prompts_and_a_batch_of_few_groups_are_not_asked(tmp_path: Path) -> None:
    few = {"prompts": ["a"] * 8, "group": 2, "training_prompts": ["a", "b"] * 20}
    assert recorded(tmp_path, ID, few, few).finding is None
    small = {"prompts": ["a"] * 4, "group": 2}
    assert recorded(tmp_path, ID, small, small).finding is None
