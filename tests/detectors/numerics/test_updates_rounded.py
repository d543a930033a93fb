"""Updates below the weights' precision; at a rate of 0, none is expected."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded, weights


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"parameters": [weights(after=np.zeros(4))], "rate": 1e-7}
    assert "layer.weight did not change" in proof(recorded(tmp_path, "updates-rounded", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"parameters": [weights(after=np.zeros(4))], "rate": 0.0}
    assert recorded(tmp_path, "updates-rounded", sound, sound).finding is None
