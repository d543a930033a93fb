"""The first tensor that is not finite."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"stages": {"the advantages": True, "the loss": False, "the gradient of a": False}}
    assert "the loss is the first that is not finite" in proof(recorded(tmp_path, "tensor-not-finite", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"stages": {"the loss": True}}
    assert recorded(tmp_path, "tensor-not-finite", sound, sound).finding is None
