"""Rewards that depend on the place of a completion."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded

ID = "equal-texts-paid-apart"
TEXTS = ["4", "4", "4", "5"] * 8
BATCH = {"prompts": [f"What is {k} + 2?" for k in range(8) for _ in range(4)], "completions": TEXTS, "group": 4}
RIGHT = np.array([float(text == "4") for text in TEXTS])


def test_ranks_that_ties_share_by_chance_are_proved(tmp_path: Path) -> None:
    ranked = BATCH | {"rewards": np.argsort(np.argsort(RIGHT.reshape(8, 4), axis=1), axis=1).ravel() / 3}
    assert "row 1, prompt 'What is 0 + 2?': '4' gets" in proof(recorded(tmp_path, ID, ranked))


def test_one_reward_for_a_text_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, ID, BATCH | {"rewards": RIGHT}, BATCH | {"rewards": RIGHT}).finding is None


def test_a_judge_that_errs_now_and_then_is_silent(tmp_path: Path) -> None:
    erring = np.abs(RIGHT - (np.random.default_rng(0).random(len(RIGHT)) < 0.1))
    assert recorded(tmp_path, ID, BATCH | {"rewards": erring}).finding is None


def test_different_texts_are_not_compared(tmp_path: Path) -> None:
    apart = BATCH | {"completions": [f"{i}" for i in range(32)], "rewards": np.arange(32.0)}
    assert recorded(tmp_path, ID, apart).finding is None


def test_groups_with_one_prompt_may_be_shown_different_pictures(tmp_path: Path) -> None:
    pictures = {
        "prompts": ["How many?"] * 32,
        "completions": ["4"] * 32,
        "rewards": np.repeat([1.0, 0.0] * 4, 4),
        "group": 4,
    }
    assert recorded(tmp_path, ID, pictures).finding is None
