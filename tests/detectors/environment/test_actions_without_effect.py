"""actions-without-effect: what is executed is not what was chosen."""

import numpy as np

from firstbreak.model import Confidence
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "actions-without-effect"


def test_a_low_share_from_the_start_is_a_guess() -> None:
    assert found(ID, run({"env.action_shown": 0.2 + noise(40, 0.03)})).confidence is Confidence.LOW


def test_actions_that_explain_what_they_move_are_healthy() -> None:
    assert silent(ID, run({"env.action_shown": 0.9 + noise(40, 0.04)}))


def test_a_policy_that_comes_to_places_where_actions_show_less_is_healthy() -> None:
    assert silent(ID, run({"env.action_shown": np.r_[0.98 + noise(20, 0.01), 0.2 + noise(20, 0.03)]}))


def test_an_environment_in_which_no_action_shows_is_not_accused() -> None:
    assert silent(ID, run({"env.action_shown": np.full(40, 0.01)}))


def test_actions_that_never_reach_the_environment_are_named() -> None:
    log = {"env.action_shown": [0.006] * 20, "env.action_shown_any": [0.011] * 20}
    assert "does not execute the actions" in found(ID, run(log)).message


def test_an_effect_that_depends_on_the_state_is_an_effect() -> None:
    assert silent(ID, run({"env.action_shown": [0.006] * 20, "env.action_shown_any": [0.7] * 20}))
