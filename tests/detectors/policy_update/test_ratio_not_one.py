"""Stored log-probabilities of another temperature."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import MASK, proof, recorded

NOW = {"logps": -MASK, "mask": MASK, "fresh": True}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = NOW | {"old_logps": -1.3 * MASK}
    assert "before any update" in proof(recorded(tmp_path, "ratio-not-one", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = NOW | {"old_logps": -MASK}
    assert recorded(tmp_path, "ratio-not-one", sound, sound).finding is None
