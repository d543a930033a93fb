"""action-range-unused: a range that no policy explores."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "action-range-unused"


def test_a_policy_in_a_range_of_a_thousand_is_named() -> None:
    assert "0.1 %" in found(ID, run({"env.action_use": [0.001] * 12})).message


def test_a_policy_that_holds_still_later_is_healthy() -> None:
    assert silent(ID, run({"env.action_use": np.geomspace(0.5, 0.001, 12)}))
