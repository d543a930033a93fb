"""far-from-known-score: a usual environment, and a score near random actions."""

import numpy as np
import pytest

from firstbreak.model import Status
from tests.detectors.look import found, look, silent
from tests.make import run, series

ID = "far-from-known-score"
STEPS = np.linspace(5_000, 100_000, 20)


def scored(score: float, env: str = "CartPole-v1", steps: np.ndarray = STEPS) -> object:
    curve = series("eval.reward", np.full(len(steps), score), steps)
    plain = run({}, algorithm="ppo", config={"env_id": env})
    plain.series["eval.reward"] = curve  # type: ignore[index]
    return plain


def test_a_pole_that_falls_as_under_random_actions_is_found() -> None:
    assert "475" in found(ID, scored(30.0)).message


def test_a_pole_that_stands_is_healthy() -> None:
    assert silent(ID, scored(480.0))


def test_a_short_run_and_an_unknown_environment_are_not_judged() -> None:
    assert look(ID, scored(30.0, steps=np.linspace(100, 5_000, 20))).status is Status.NOT_MEASURED
    assert look(ID, scored(30.0, env="MyOwn-v0")).status is Status.NOT_MEASURED


@pytest.mark.parametrize("name", ["PongNoFrameskip-v4", "ALE/Pong-v5", "PongDeterministic-v4"])
def test_one_game_under_all_its_names(name: str) -> None:
    played = np.linspace(1e6, 2e7, 20)
    assert "-20" in found(ID, scored(-20.5, env=name, steps=played)).message
    assert silent(ID, scored(5.0, env=name, steps=played))


def test_a_robot_of_another_simulator_is_another_task() -> None:
    walked = np.linspace(1e5, 3e6, 20)
    assert found(ID, scored(10.0, env="Hopper-v4", steps=walked))
    assert look(ID, scored(10.0, env="HopperBulletEnv-v0", steps=walked)).status is Status.NOT_MEASURED


def test_a_share_of_successes_is_no_return() -> None:
    plain = run({}, algorithm="ppo", config={"env_id": "CartPole-v1"})
    plain.series["eval.success_rate"] = series("eval.success_rate", np.full(20, 0.8), STEPS)  # type: ignore[index]
    assert look(ID, plain).status is Status.NOT_MEASURED


def test_a_score_between_0_and_1_is_no_return_of_a_robot() -> None:
    far = run({}, algorithm="sac", config={"env_id": "HalfCheetah-v4"})
    far.series["eval.reward"] = series("eval.reward", np.linspace(0, 0.8, 20), 30 * STEPS)  # type: ignore[index]
    assert look(ID, far).status is Status.NOT_MEASURED


def test_a_score_that_was_reached_and_lost_is_another_finding() -> None:
    fallen = scored(30.0)
    fallen.series["eval.reward"].values[:12] = 480.0  # type: ignore[attr-defined]
    assert silent(ID, fallen)
