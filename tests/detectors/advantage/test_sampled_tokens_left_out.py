"""The end token without loss."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import ADVANTAGES, GRADIENT, LENGTHS, MASK, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"mask": np.where(np.arange(5) == LENGTHS.reshape(-1, 1) - 1, 0, MASK), "lengths": LENGTHS}
    assert "token 2 of 3 was sampled" in proof(recorded(tmp_path, "sampled-tokens-left-out", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"mask": MASK, "lengths": LENGTHS}
    assert recorded(tmp_path, "sampled-tokens-left-out", sound, sound).finding is None


def test_a_policy_that_comes_to_sample_the_padding_token_breaks_no_mask(tmp_path: Path) -> None:
    sound, drifted = ({"mask": MASK * (np.arange(5) != hole), "lengths": LENGTHS} for hole in (9, 1))
    assert recorded(tmp_path, "sampled-tokens-left-out", sound, *[drifted] * 5).finding is None


def test_clipped_tokens_and_those_without_an_advantage_need_no_gradient(tmp_path: Path) -> None:
    clipped = np.where(np.arange(5) == 0, 0.0, GRADIENT)
    apart = {"logps": -MASK, "old_logps": -MASK - 0.5 * (np.arange(5) == 0)}
    batch = {"gradient": clipped, "advantages": ADVANTAGES, "mask": MASK, "lengths": LENGTHS, "fresh": True}
    assert recorded(tmp_path, "sampled-tokens-left-out", batch | apart, batch | apart).finding is None
    assert "was sampled and has no gradient" in proof(recorded(tmp_path / "not", "sampled-tokens-left-out", batch))
