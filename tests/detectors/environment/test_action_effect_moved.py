"""action-effect-moved: the world answers otherwise."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "action-effect-moved"


def test_a_force_that_pushes_the_other_way_is_found() -> None:
    finding = found(ID, run({"env.action_effect": np.r_[np.full(20, -0.195), np.full(20, 0.195)]}))
    assert finding.severity is Severity.CRITICAL
    assert finding.onset == 21


def test_a_steady_effect_is_healthy() -> None:
    assert silent(ID, run({"env.action_effect": -0.2 + noise(40, 0.005)}))


def test_an_effect_that_depends_on_the_state_says_nothing() -> None:
    assert look(ID, run({"env.action_effect": noise(40)})).status is Status.NOT_MEASURED
