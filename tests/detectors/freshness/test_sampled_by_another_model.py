"""A copy of the model that samples."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded


def test_it_is_proved_by_one_batch(tmp_path: Path) -> None:
    assert "no pass" in proof(recorded(tmp_path, "sampled-by-another-model", {"policy_passes": 0.0}))


def test_the_trained_model_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "sampled-by-another-model", {"policy_passes": 12.0}).finding is None
