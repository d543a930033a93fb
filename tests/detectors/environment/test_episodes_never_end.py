"""episodes-never-end: no return is ever complete."""

import numpy as np

from tests.detectors.look import found, look, silent
from tests.make import run

ID = "episodes-never-end"
AGE = np.linspace(128, 2048, 16)


def test_a_run_in_which_no_episode_ends_is_named() -> None:
    assert "2048 steps old" in found(
        ID, run({"env.episodes_ended": [0.0] * 16, "env.episode_age": AGE})
    ).message.replace(",", "")


def test_episodes_that_end_and_a_run_that_is_young_are_healthy() -> None:
    ended = np.where(np.arange(16) == 9, 1.0, 0.0)
    assert silent(ID, run({"env.episodes_ended": ended, "env.episode_age": AGE}))
    assert silent(ID, run({"env.episodes_ended": [0.0] * 16, "env.episode_age": AGE / 2}))


def test_monitor_files_without_an_episode_say_so() -> None:
    steps = 2048.0 * np.arange(1, 18)
    empty = run({"progress.env_steps": steps}, algorithm="ppo", files=tuple(f"{i}.monitor.csv" for i in range(4)))
    assert "8704 steps old" in found(ID, empty).message.replace(",", "")
    ended = run({"progress.env_steps": steps, "episode.length": np.full(90, 150.0)}, algorithm="ppo", files=empty.files)
    assert look(ID, ended).finding is None
