"""Completions that no function scored; one of two functions may leave a row out."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import BATCH, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = BATCH | {"rewards": [1, None, None, 0, 0, 0, 1, 1]}
    assert "row 1, prompt 'What is 0 + 0?' has no reward" in proof(
        recorded(tmp_path, "completions-without-reward", broken)
    )


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = BATCH | {"rewards": [[1, None], [0, 2], [None, 0], [0, 0], [0, 1], [0, 1], [1, 1], [1, 1]]}
    assert recorded(tmp_path, "completions-without-reward", sound, sound).finding is None
