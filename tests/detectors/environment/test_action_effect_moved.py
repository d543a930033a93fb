"""action-effect-moved: the world answers otherwise."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "action-effect-moved"
CLEAR = {"env.action_shown_at_once": np.full(40, 0.999)}
TURNED = np.r_[np.full(20, -0.195), np.full(20, 0.195)]


def test_a_force_that_pushes_the_other_way_is_found() -> None:
    assert found(ID, run(CLEAR | {"env.action_effect": TURNED}), Severity.CRITICAL).onset == 21


def test_a_steady_effect_is_healthy() -> None:
    assert silent(ID, run(CLEAR | {"env.action_effect": -0.2 + noise(40, 0.005)}))


def test_an_effect_that_depends_on_the_state_says_nothing() -> None:
    assert look(ID, run(CLEAR | {"env.action_effect": noise(40)})).status is Status.NOT_MEASURED


def test_a_policy_that_comes_to_places_where_actions_explain_less_is_not_accused() -> None:
    swung = {"env.action_shown_at_once": np.r_[np.full(12, 0.8), np.full(28, 0.14)], "env.action_effect": TURNED}
    assert look(ID, run(swung)).status is Status.NOT_MEASURED
