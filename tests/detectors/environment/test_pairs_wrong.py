"""Pairs that the collator swaps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"pair_ids": np.array([[1, 2], [1, 3], [1, 4], [1, 5]]), "chosen_first": np.zeros(4)}
    assert "the rejected text of the data is used as the chosen one" in proof(recorded(tmp_path, "pairs-wrong", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"pair_ids": np.array([[1, 2], [1, 3], [1, 4], [1, 5]]), "chosen_first": np.ones(4)}
    assert recorded(tmp_path, "pairs-wrong", sound, sound).finding is None
