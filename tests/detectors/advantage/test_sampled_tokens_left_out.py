"""The end token without loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import LENGTHS, MASK, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"mask": np.where(np.arange(5) == LENGTHS.reshape(-1, 1) - 1, 0, MASK), "lengths": LENGTHS}
    assert "token 2 of 3 was sampled" in proof(recorded(tmp_path, "sampled-tokens-left-out", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"mask": MASK, "lengths": LENGTHS}
    assert recorded(tmp_path, "sampled-tokens-left-out", sound, sound).finding is None


def test_a_policy_that_comes_to_sample_the_padding_token_breaks_no_mask(tmp_path: Path) -> None:
    sound, drifted = ({"mask": MASK * (np.arange(5) != hole), "lengths": LENGTHS} for hole in (9, 1))
    assert recorded(tmp_path, "sampled-tokens-left-out", sound, *[drifted] * 5).finding is None
