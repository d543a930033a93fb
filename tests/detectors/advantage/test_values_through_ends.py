"""Values that are added across the end of an episode."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import STEPS, estimated, proof, recorded_steps


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = STEPS | estimated(ends=False)
    assert "row 1: step 2 ends an episode" in proof(recorded_steps(tmp_path, "values-through-ends", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    assert recorded_steps(tmp_path, "values-through-ends", STEPS, STEPS).finding is None


def test_a_batch_in_which_nothing_ends_says_nothing(tmp_path: Path) -> None:
    endless = STEPS | {"dones": STEPS["dones"] * 0} | estimated(ends=False)
    assert recorded_steps(tmp_path, "values-through-ends", endless).status.value == "not_measured"
