"""Samples of a lower temperature than the loss assumes."""

from pathlib import Path

import numpy as np

from tests.detectors.recorded import drawn, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = drawn(1, temperature=0.3)
    assert "more probable" in proof(recorded(tmp_path, "samples-too-sure", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = drawn(1)
    assert recorded(tmp_path, "samples-too-sure", sound, sound).finding is None


def test_a_nearly_certain_policy_is_rarely_surprised_and_is_silent(tmp_path: Path) -> None:
    """Of 192 tokens that are right at 98 %, some batches hold no surprise: their own spread is 0."""
    entropies = np.full((24, 8), 0.098)
    usual = {"logps": np.full((24, 8), np.log(0.98)), "entropies": entropies, "mask": np.ones((24, 8)), "fresh": True}
    assert recorded(tmp_path, "samples-too-sure", *[usual] * 2).finding is None
