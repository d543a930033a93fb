"""sampling-narrow: rollouts sampled too cold, or from too narrow a nucleus."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "sampling-narrow"
LENGTHS = {"length.mean": np.full(20, 50.0)}


def test_cold_rollouts_are_found() -> None:
    assert "0.1" in found(ID, run(LENGTHS, algorithm="grpo", config={"temperature": 0.1, "top_p": 1.0})).message


def test_a_narrow_nucleus_is_found() -> None:
    assert "0.4" in found(ID, run(LENGTHS, algorithm="grpo", config={"temperature": 1.0, "top_p": 0.4})).message


def test_usual_options_are_healthy() -> None:
    assert silent(ID, run(LENGTHS, algorithm="grpo", config={"temperature": 0.6, "top_p": 0.95}))
