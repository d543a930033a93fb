"""far-from-known-score: a usual environment, and a score near random actions."""

from __future__ import annotations

import numpy as np

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
