"""Right answers that were sorted apart from their prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.recorded import recorded

ANSWERS = [str(i * 7 % 100) for i in range(48)]
ROWS = [i // 4 for i in range(192)]
DATA: dict[str, Any] = {"prompts": [f"Question {i}" for i in ROWS], "known": ANSWERS}


def test_it_is_found_where_completions_agree_and_names_a_prompt(tmp_path: Path) -> None:
    agreed = [f"The answer is {ANSWERS[i]}." for i in ROWS]
    moved = DATA | {"completions": agreed, "references": [ANSWERS[i - 1] for i in ROWS]}
    found = recorded(tmp_path, "answers-of-other-prompts", moved).finding
    assert found is not None
    assert "prompt 'Question 0': its completions say '0', another's answer" in found.message


def test_a_policy_that_guesses_is_silent(tmp_path: Path) -> None:
    guesses = [ANSWERS[(5 * k + i) % 48] for k, i in enumerate(ROWS)]
    known = DATA | {"completions": guesses, "references": [ANSWERS[i] for i in ROWS], "rewards": [0.0] * 192}
    assert recorded(tmp_path, "answers-of-other-prompts", known).finding is None


def test_few_different_answers_say_nothing(tmp_path: Path) -> None:
    same = DATA | {
        "completions": ["yes"] * 192,
        "references": ["no"] * 192,
        "rewards": [0.0] * 192,
        "known": ["yes", "no"] * 15,
    }
    assert recorded(tmp_path, "answers-of-other-prompts", same).finding is None
