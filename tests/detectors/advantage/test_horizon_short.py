"""horizon-short: a discount that forgets too early."""

from __future__ import annotations

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "horizon-short"
LENGTHS = {"episode.length": np.linspace(20, 200, 40)}


def test_a_horizon_of_two_steps_is_found() -> None:
    assert "0.5" in found(ID, run(LENGTHS, algorithm="ppo", config={"gamma": 0.5})).message


def test_the_usual_discount_is_healthy() -> None:
    assert silent(ID, run(LENGTHS, algorithm="ppo", config={"gamma": 0.99}))
