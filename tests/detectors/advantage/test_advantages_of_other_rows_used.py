"""The right advantages, one row late."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import ADVANTAGES, BATCH, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = BATCH | {"advantages": np.roll(ADVANTAGES, 1)}
    assert "row 0" in proof(recorded(tmp_path, "advantages-of-other-rows-used", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = BATCH
    assert recorded(tmp_path, "advantages-of-other-rows-used", sound, sound).finding is None
