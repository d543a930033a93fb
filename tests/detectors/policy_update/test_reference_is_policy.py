"""One model as policy and reference."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"shared_with_reference": 1.0, "shared_name": "wte.weight"}
    assert "wte.weight of the policy and of the reference" in proof(recorded(tmp_path, "reference-is-policy", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"shared_with_reference": 0.0}
    assert recorded(tmp_path, "reference-is-policy", sound, sound).finding is None
