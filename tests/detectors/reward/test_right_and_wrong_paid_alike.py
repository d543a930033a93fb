"""A cache of rewards by prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.detectors.recorded import proof, recorded

ID = "right-and-wrong-paid-alike"
TEXTS = [str(k + (i % 2)) for k in range(8) for i in range(4)]  #: of each four, two are right
ANSWERS = [str(k) for k in range(8) for _ in range(4)]
BATCH: dict[str, Any] = {"prompts": [f"What is {a}?" for a in ANSWERS], "completions": TEXTS, "references": ANSWERS}
RIGHT = np.array([float(text == answer) for text, answer in zip(TEXTS, ANSWERS, strict=True)])


def test_one_reward_for_all_completions_of_a_prompt_is_proved(tmp_path: Path) -> None:
    cached = BATCH | {"rewards": RIGHT.reshape(8, 4)[:, :1].repeat(4, axis=1).ravel()}
    assert "row 0, prompt 'What is 0?' is right, row 1 is wrong, and both get 1" in proof(
        recorded(tmp_path, ID, cached)
    )


def test_a_verifier_that_reads_the_text_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, ID, BATCH | {"rewards": RIGHT}, BATCH | {"rewards": RIGHT}).finding is None


def test_a_form_that_is_asked_for_is_no_fault(tmp_path: Path) -> None:
    texts = [f"<{answer}>" if i % 4 == 3 else text for i, (text, answer) in enumerate(zip(TEXTS, ANSWERS, strict=True))]
    formed = BATCH | {"completions": texts, "rewards": np.array([float(text.startswith("<")) for text in texts])}
    assert recorded(tmp_path / "a", ID, formed, formed).finding is None
    assert recorded(tmp_path / "b", "right-completions-unpaid", formed, formed).finding is None
