"""Groups cut one row late."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import BATCH, PROMPTS, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"prompts": PROMPTS[1:] + PROMPTS[:1], "group": 4}
    assert "share a group" in proof(recorded(tmp_path, "groups-of-several-prompts", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = BATCH
    assert recorded(tmp_path, "groups-of-several-prompts", sound, sound).finding is None
