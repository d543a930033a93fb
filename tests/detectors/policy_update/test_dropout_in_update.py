"""A dropout that moves log-probabilities, and one that does not."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import MASK, proof, recorded

NOW = {"logps": -MASK, "mask": MASK, "dropping": "h.0.drop"}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = NOW | {"eval_logps": -1.2 * MASK}
    assert "h.0.drop is active" in proof(recorded(tmp_path, "dropout-in-update", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = NOW | {"eval_logps": -MASK}
    assert recorded(tmp_path, "dropout-in-update", sound, sound).finding is None
