"""Prompts that have lost what tells them apart, or stand beside other prompts' answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstbreak.live.recorder.batch import BatchRecorder
from tests.detectors.recorded import proof, recorded

ID = "prompt-with-several-answers"
WORDS = [f"{a}{b}{c}" for a in "abcd" for b in "abcd" for c in "ab"]


def batch(prompts: list[str], answers: list[str]) -> dict[str, Any]:
    return {"prompts": prompts, "references": answers}


def test_prompts_that_are_cut_are_proved(tmp_path: Path) -> None:
    cut = batch([word[:2] for word in WORDS], [word[::-1] for word in WORDS])
    assert "16 of 16 repeated prompts, such as 'aa': 'aaa' and 'baa'" in proof(recorded(tmp_path, ID, cut))


def test_answers_that_moved_show_when_a_prompt_comes_again(tmp_path: Path) -> None:
    moved = [batch(WORDS, WORDS[k:] + WORDS[:k]) for k in (0, 3)]
    assert "Proved at step 2" in proof(recorded(tmp_path, ID, *moved))


def test_whole_prompts_are_silent(tmp_path: Path) -> None:
    whole = batch(WORDS * 2, [word[::-1] for word in WORDS] * 2)
    assert recorded(tmp_path, ID, whole, whole).finding is None


def test_games_that_begin_alike_and_long_answers_are_not_asked(tmp_path: Path) -> None:
    game = batch(["Guess the word."] * len(WORDS), WORDS) | {"group": 2}
    assert recorded(tmp_path / "game", ID, game).finding is None
    long = batch([word[:2] for word in WORDS], [" ".join(word * 4) for word in WORDS]) | {"group": 2}
    assert recorded(tmp_path / "long", ID, long).finding is None


def test_one_answer_in_two_spellings_is_one(tmp_path: Path) -> None:
    spelled = batch(WORDS * 2, [word.upper() for word in WORDS] + [f"{word}." for word in WORDS])
    assert recorded(tmp_path, ID, spelled, spelled).finding is None


def test_what_is_remembered_of_a_small_task_does_not_grow(tmp_path: Path) -> None:
    record = BatchRecorder(tmp_path, share=1e9)
    for step in range(1, 30):
        record.batch(step, **batch(WORDS, WORDS))
    assert set(record._asked.values()) == {2}
