"""Padding in the loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import LENGTHS, MASK, PROMPTS, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"mask": np.ones((8, 5)), "lengths": LENGTHS, "prompts": PROMPTS}
    assert "token 3 of 3 counts and was not sampled" in proof(recorded(tmp_path, "other-tokens-in-loss", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"mask": MASK, "lengths": LENGTHS}
    assert recorded(tmp_path, "other-tokens-in-loss", sound, sound).finding is None
