"""An optimizer that maximises the loss."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import ADVANTAGES, MASK, proof, recorded

BEFORE = {"logps_before": -MASK, "mask": MASK, "advantages": ADVANTAGES}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = BEFORE | {"logps_after": MASK * (-1 - 0.1 * ADVANTAGES.reshape(-1, 1))}
    assert "its log-probability changed by -" in proof(recorded(tmp_path, "update-against-advantages", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = BEFORE | {"logps_after": MASK * (-1 + 0.1 * ADVANTAGES.reshape(-1, 1))}
    assert recorded(tmp_path, "update-against-advantages", sound, sound).finding is None
