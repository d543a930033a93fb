"""Targets of the critic that rewards and values do not give."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import STEPS, estimated, proof, recorded_steps


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = STEPS | {"returns": STEPS["advantages"]}
    assert "has the target" in proof(recorded_steps(tmp_path, "targets-not-of-rewards", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    assert recorded_steps(tmp_path, "targets-not-of-rewards", STEPS, STEPS).finding is None


def test_values_through_ends_are_said_once(tmp_path: Path) -> None:
    assert recorded_steps(tmp_path, "targets-not-of-rewards", STEPS | estimated(ends=False)).finding is None
