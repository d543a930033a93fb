"""An optimizer of the biases alone."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded, weights


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"parameters": [weights(owned=False), weights(name="bias", size=1)], "rate": 1e-3}
    assert "layer.weight is trainable" in proof(recorded(tmp_path, "weights-left-out", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"parameters": [weights(), weights(name="bias", size=1, gradient=None)], "rate": 1e-3}
    assert recorded(tmp_path, "weights-left-out", sound, sound).finding is None
