"""An update that changes probabilities by factors."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import ADVANTAGES, MASK, proof, recorded

BEFORE = {"logps_before": -MASK, "mask": MASK, "advantages": ADVANTAGES}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = BEFORE | {"logps_after": -4 * MASK}
    assert "3 nats" in proof(recorded(tmp_path, "step-far", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = BEFORE | {"logps_after": -1.05 * MASK}
    assert recorded(tmp_path, "step-far", sound, sound).finding is None
