"""A limit that was left from a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import PROMPTS, proof, recorded

CUT = {"needed": np.full(8, 12), "ended": np.zeros(8), "prompts": PROMPTS}


def test_it_is_proved_and_says_how_long_an_answer_is(tmp_path: Path) -> None:
    assert "has 12 tokens with its end, the limit is 8" in proof(
        recorded(tmp_path, "answer-beyond-limit", CUT | {"limit": 8})
    )


def test_completions_that_end_are_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "answer-beyond-limit", CUT | {"limit": 8, "ended": np.ones(8)}).finding is None


def test_a_limit_that_answers_fit_into_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "answer-beyond-limit", CUT | {"limit": 64}).finding is None


def test_texts_tell_it_where_tokens_of_the_right_answer_are_not_known(tmp_path: Path) -> None:
    cut = {"completions": ["12"] * 8, "references": ["1234"] * 8, "lengths": np.full(8, 2.0), "limit": 2}
    assert "'12' fills the 2 tokens, and the right answer is '1234'" in proof(
        recorded(tmp_path, "answer-beyond-limit", cut)
    )
    ended = {**cut, "lengths": np.full(8, 1.0)}
    assert recorded(tmp_path / "ended", "answer-beyond-limit", ended).finding is None
