"""Equal samples, from a policy that is not sure and from one that is."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import MASK, PROMPTS, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"prompts": PROMPTS, "completions": ["yes"] * 8, "old_logps": -MASK, "mask": MASK, "fresh": True}
    assert "are one text, 'yes'" in proof(recorded(tmp_path, "samples-copied", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"prompts": PROMPTS, "completions": ["yes"] * 8, "old_logps": -1e-3 * MASK, "mask": MASK, "fresh": True}
    assert recorded(tmp_path, "samples-copied", sound, sound).finding is None
