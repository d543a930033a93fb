"""observations-off: a policy that acts on something else than the state."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "observations-off"


def test_components_that_stop_moving_are_found_where_they_stop() -> None:
    finding = found(ID, run({"env.observation_constant": [0.0] * 20 + [0.5] * 20}), Severity.CRITICAL)
    assert finding.onset == 21
    assert "50 %" in finding.message


def test_what_is_constant_by_nature_is_healthy() -> None:
    assert silent(ID, run({"env.observation_constant": [0.25] * 40}))


def test_a_policy_that_rests_for_a_while_is_healthy() -> None:
    assert silent(ID, run({"env.observation_constant": np.where(np.arange(40) % 20 < 5, 0.5, 0.0)[::-1]}))


def test_another_scale_is_found() -> None:
    finding = found(ID, run({"env.start_spread": np.r_[0.03 + noise(20, 0.002), 0.0003 + noise(20, 2e-5)]}))
    assert finding.onset == 21
    assert "spread" in finding.message


def test_the_noise_of_few_episodes_is_healthy() -> None:
    assert silent(ID, run({"env.start_spread": 0.03 + noise(60, 0.006)}))


def test_actions_that_show_some_steps_later_are_found() -> None:
    curves = {"env.action_shown": 0.95 + noise(20, 0.01), "env.action_shown_at_once": 0.01 + noise(20, 0.005)}
    finding = found(ID, run(curves))
    assert finding.onset == 1
    assert "late" in finding.message


def test_actions_that_show_at_once_are_healthy() -> None:
    curves = {"env.action_shown": 0.96 + noise(20, 0.01), "env.action_shown_at_once": 0.95 + noise(20, 0.01)}
    assert silent(ID, run(curves))
