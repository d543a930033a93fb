"""Samples of a lower temperature than the loss assumes."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import drawn, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = drawn(1, temperature=0.3)
    assert "more probable" in proof(recorded(tmp_path, "samples-too-sure", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = drawn(1)
    assert recorded(tmp_path, "samples-too-sure", sound, sound).finding is None
