"""advantages-turned-round: a wrong minus sign."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import run

ID = "advantages-turned-round"


def test_the_wrong_sign_is_found_where_it_begins() -> None:
    finding = found(ID, run({"advantage.turned": np.r_[np.zeros(20), np.ones(20)]}))
    assert finding.severity is Severity.CRITICAL
    assert finding.onset == 21


def test_the_right_sign_is_healthy() -> None:
    assert silent(ID, run({"advantage.turned": np.zeros(40)}))


def test_few_batches_say_nothing() -> None:
    assert look(ID, run({"advantage.turned": [1.0]})).status is Status.NOT_MEASURED
