"""A clip round 0 instead of 1: completions with an advantage above 0 have no gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.detectors.recorded import ADVANTAGES, GRADIENT, LENGTHS, proof, recorded

ID = "one-sign-without-gradient"
UPDATE = {"advantages": ADVANTAGES, "lengths": LENGTHS, "fresh": True}


@pytest.mark.parametrize("sign", [1, -1])
def test_it_is_proved_by_one_batch_and_says_how_many_tokens(tmp_path: Path, sign: int) -> None:
    one_sided = np.where(sign * ADVANTAGES.reshape(-1, 1) > 0, 0.0, GRADIENT)
    said = proof(recorded(tmp_path, ID, UPDATE | {"gradient": one_sided}))
    assert f"tokens with an advantage {'above' if sign > 0 else 'below'} 0 has a gradient" in said


def test_a_sound_batch_and_a_part_of_one_are_silent(tmp_path: Path) -> None:
    """Where a batch is taken in parts, the rows of the others have no gradient, whatever their sign."""
    part = np.where(np.arange(8).reshape(-1, 1) < 3, GRADIENT, 0.0)
    sound = [UPDATE | {"gradient": gradient} for gradient in (GRADIENT, part)]
    assert recorded(tmp_path, ID, *sound).finding is None
