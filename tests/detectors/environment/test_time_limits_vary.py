"""time-limits-vary: failures that are reported as limits."""

import numpy as np

from firstbreak.model import Confidence
from tests.detectors.look import found, silent
from tests.make import run

ID = "time-limits-vary"


def test_limits_before_their_time_are_found() -> None:
    assert found(ID, run({"env.limits_early": [5.0, 3.0] * 10})).confidence is Confidence.HIGH


def test_one_in_each_window_is_enough() -> None:
    assert found(ID, run({"env.limits_early": [1.0] * 20})).numbers["share"] == 1.0


def test_limits_of_one_length_are_healthy() -> None:
    assert silent(ID, run({"env.limits_early": np.zeros(20)}))


def test_a_single_early_one_is_healthy() -> None:
    assert silent(ID, run({"env.limits_early": [0.0] * 19 + [1.0]}))
