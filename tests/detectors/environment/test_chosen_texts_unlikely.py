"""Chosen texts of other prompts, under a policy that has not been trained on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded

ID = "chosen-texts-unlikely"


def pairs(chosen: float, rejected: float) -> dict[str, np.ndarray]:
    """Four pairs of three tokens with these log-probabilities, and a padded place."""
    logps = np.repeat([[chosen], [rejected]], 4, axis=0) * np.ones((8, 4))
    return {"pair_logps": logps, "pair_counted": np.array([[1.0, 1, 1, 0]] * 8)}


def test_texts_of_other_prompts_are_proved(tmp_path: Path) -> None:
    assert "a token of a chosen text has -5 nats, of a rejected one -0.5" in proof(
        recorded(tmp_path, ID, pairs(-5, -0.5))
    )


def test_texts_of_a_stronger_model_and_swapped_pairs_are_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path / "a", ID, pairs(-1.2, -0.8)).finding is None
    assert recorded(tmp_path / "b", ID, pairs(-0.5, -5)).finding is None
