"""Advantages with the opposite sign."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import ADVANTAGES, BATCH, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = BATCH | {"advantages": -ADVANTAGES}
    assert "row 0, prompt 'What is 0 + 0?'" in proof(recorded(tmp_path, "advantages-negated", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = BATCH
    assert recorded(tmp_path, "advantages-negated", sound, sound).finding is None
