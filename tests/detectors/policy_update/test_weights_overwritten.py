"""Weights that are loaded again after each step."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded, weights


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"parameters": [weights(last=np.ones(4))], "rate": 1e-3}
    assert "by something else" in proof(recorded(tmp_path, "weights-overwritten", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"parameters": [weights()], "rate": 1e-3}
    assert recorded(tmp_path, "weights-overwritten", sound, sound).finding is None
