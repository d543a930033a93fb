"""Samples that the policy finds less and less probable."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import drawn, proof, recorded


def test_it_is_proved_where_the_first_batch_was_right(tmp_path: Path) -> None:
    later = [drawn(seed, edited=0.15) for seed in range(2, 8)]
    assert "less probable" in proof(recorded(tmp_path, "samples-of-other-weights", drawn(1), *later))


def test_what_is_wrong_from_the_first_batch_on_is_another_matter(tmp_path: Path) -> None:
    edited = [drawn(seed, edited=0.3) for seed in range(1, 6)]
    assert recorded(tmp_path, "samples-of-other-weights", *edited).finding is None


def test_a_sound_run_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "samples-of-other-weights", *map(drawn, range(20))).finding is None
