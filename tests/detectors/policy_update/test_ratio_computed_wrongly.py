"""A ratio that is not the new probability over the old one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded_steps

NEW, OLD = np.array([-1.0, -2.0, -0.5]), np.array([-1.2, -1.5, -0.5])
SOUND = {"newlogprob": NEW, "logprob": OLD, "ratio": np.exp(NEW - OLD)}


def test_it_is_proved_by_one_minibatch_and_names_the_place(tmp_path: Path) -> None:
    broken = SOUND | {"ratio": np.exp(OLD - NEW)}
    assert "row 1: ratio" in proof(recorded_steps(tmp_path, "ratio-computed-wrongly", broken))


def test_a_sound_minibatch_is_silent(tmp_path: Path) -> None:
    assert recorded_steps(tmp_path, "ratio-computed-wrongly", SOUND, SOUND).finding is None


def test_a_ratio_beyond_what_is_compared_is_silent(tmp_path: Path) -> None:
    far = SOUND | {"logprob": NEW + 23, "ratio": np.full(3, np.exp(-23.0))}
    assert recorded_steps(tmp_path, "ratio-computed-wrongly", far, far).finding is None
