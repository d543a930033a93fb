"""A weight decay that no gradient holds against."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded, weights

ID = "weights-decay-away"


def test_a_decay_of_20_on_trained_weights_is_proved(tmp_path: Path) -> None:
    strong = {"parameters": [weights(before=np.full(4, 0.2), last=np.full(4, 0.2), decay=20.0)], "rate": 1e-3}
    assert "layer.weight has a weight decay of 20" in proof(recorded(tmp_path, ID, strong))


def test_usual_decays_are_silent(tmp_path: Path) -> None:
    for decay in (0.0, 0.01, 0.1, 1.0):
        usual = {"parameters": [weights(before=np.full(4, 0.9), last=np.full(4, 0.9), decay=decay)], "rate": 1e-3}
        assert recorded(tmp_path / str(decay), ID, usual, usual).finding is None
