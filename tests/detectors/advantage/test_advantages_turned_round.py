"""advantages-turned-round: a wrong minus sign."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import run

ID = "advantages-turned-round"


def test_the_wrong_sign_is_found_where_it_begins() -> None:
    assert found(ID, run({"advantage.turned": np.r_[np.zeros(20), np.ones(20)]}), Severity.CRITICAL).onset == 21


def test_the_right_sign_is_healthy() -> None:
    assert silent(ID, run({"advantage.turned": np.zeros(40)}))
