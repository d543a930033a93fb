"""A minus sign before the loss."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import ADVANTAGES, GRADIENT, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"gradient": -GRADIENT, "advantages": ADVANTAGES}
    assert "the loss rises with its log-probability" in proof(recorded(tmp_path, "loss-turned-round", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"gradient": GRADIENT, "advantages": ADVANTAGES}
    assert recorded(tmp_path, "loss-turned-round", sound, sound).finding is None
