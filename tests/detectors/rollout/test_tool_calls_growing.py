"""tool-calls-growing: more and more calls."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "tool-calls-growing"
N = 60
GROWING = np.where(np.arange(N) < 20, 3.0, np.minimum(6.0, 3.0 + 0.2 * (np.arange(N) - 20))) + noise(N, 0.05)


def test_calls_that_double_are_found() -> None:
    assert "6" in found(ID, run({"tool.call_freq": GROWING}, algorithm="grpo")).message


def test_a_steady_number_of_calls_is_healthy() -> None:
    assert silent(ID, run({"tool.call_freq": 3 + noise(N, 0.1)}, algorithm="grpo"))
