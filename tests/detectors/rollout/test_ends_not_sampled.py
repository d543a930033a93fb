"""An end token that is suppressed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded

ENDS = {"end_logps": np.full((8, 10), np.log(0.1)), "mask": np.ones((8, 10)), "fresh": True}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = ENDS | {"ended": np.zeros(8)}
    assert "expected in 8 completions, 0 sampled" in proof(recorded(tmp_path, "ends-not-sampled", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = ENDS | {"ended": np.ones(8)}
    assert recorded(tmp_path, "ends-not-sampled", sound, sound).finding is None
