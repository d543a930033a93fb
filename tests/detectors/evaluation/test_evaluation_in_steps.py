"""evaluation-in-steps: the evaluation sees new weights only now and then."""

from __future__ import annotations

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "evaluation-in-steps"
N = 24
TRAINING = {"policy.entropy": np.linspace(2, 1, 100)}


def test_numbers_that_repeat_in_blocks_are_found() -> None:
    blocks = np.repeat([0.31, 0.42, 0.47, 0.55, 0.61, 0.64], 4)
    finding = found(ID, run({"eval.accuracy": blocks, **TRAINING}, algorithm="grpo"))
    assert "5 times" in finding.message


def test_numbers_that_differ_are_healthy() -> None:
    assert silent(ID, run({"eval.accuracy": np.linspace(0.3, 0.6, N), **TRAINING}, algorithm="grpo"))


def test_a_ceiling_that_repeats_is_healthy() -> None:
    ceiling = np.concatenate([[0.3, 0.6, 0.8, 0.9], np.ones(20)])
    assert silent(ID, run({"eval.accuracy": ceiling, **TRAINING}, algorithm="grpo"))
