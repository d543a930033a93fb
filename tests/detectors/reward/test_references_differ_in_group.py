"""Right answers that are repeated in another order than their prompts."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded

PROMPTS = [prompt for prompt in "abc" for _ in range(3)]
TILED, REPEATED = list("ABC") * 3, [answer for answer in "ABC" for _ in range(3)]
ID = "references-differ-in-group"


def test_a_list_that_is_repeated_as_a_whole_is_proved_and_the_row_named(tmp_path: Path) -> None:
    told = proof(recorded(tmp_path, ID, {"prompts": PROMPTS, "references": TILED, "group": 3}))
    assert "row 0, prompt 'a' is scored against 'A', and against 'B' in row 1" in told


def test_one_answer_for_a_prompt_is_silent(tmp_path: Path) -> None:
    sound = {"prompts": PROMPTS, "references": REPEATED, "group": 3}
    assert recorded(tmp_path, ID, sound, sound).finding is None


def test_groups_of_several_prompts_are_not_asked(tmp_path: Path) -> None:
    mixed = {"prompts": list("abc") * 3, "references": TILED, "group": 3}
    assert recorded(tmp_path, ID, mixed, mixed).finding is None
