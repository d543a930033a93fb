"""Samples that are older than allowed, or newer than the trainer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.detectors.recorded import proof, recorded

VERSIONS = np.full((4, 8), 9.0)
SOUND = {"versions": VERSIONS, "version": 10, "oldest": 2, "mask": np.ones_like(VERSIONS)}


@pytest.mark.parametrize("sampled_by", [5.0, 12.0])
def test_it_is_proved_by_one_batch_and_names_the_place(sampled_by: float, tmp_path: Path) -> None:
    versions = np.where(np.arange(4)[:, None] == 2, sampled_by, VERSIONS)
    said = proof(recorded(tmp_path, "samples-beyond-age", SOUND | {"versions": versions}))
    assert f"row 2: token 0 was sampled by version {sampled_by:g}, at version 10" in said


def test_samples_within_the_limit_are_silent(tmp_path: Path) -> None:
    at_limit = SOUND | {"versions": VERSIONS - 1}
    assert recorded(tmp_path, "samples-beyond-age", SOUND, at_limit).finding is None


def test_prompts_have_no_version(tmp_path: Path) -> None:
    prompts = np.where(np.arange(8) < 3, -1.0, VERSIONS)
    assert recorded(tmp_path, "samples-beyond-age", SOUND | {"versions": prompts}).finding is None
