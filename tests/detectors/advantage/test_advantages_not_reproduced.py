"""advantages-not-reproduced: a done mask that is missing."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "advantages-not-reproduced"


def test_advantages_that_differ_from_their_rewards_are_found() -> None:
    finding = found(ID, run({"advantage.error": np.r_[np.full(20, 4e-7), 1 + noise(20, 0.1)]}), Severity.CRITICAL)
    assert finding.onset == 21


def test_rounding_is_healthy() -> None:
    assert silent(ID, run({"advantage.error": np.full(40, 3e-3)}))


def test_advantages_with_the_wrong_sign_are_another_finding() -> None:
    assert silent(ID, run({"advantage.error": np.full(40, 2.0), "advantage.turned": np.ones(40)}))
