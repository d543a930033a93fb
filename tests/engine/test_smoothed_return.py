"""A mean over the last 100 episodes is one of all episodes, as long as there were fewer: its first value is one episode."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Action, Run
from tests.make import noise, run

NOTE = "return, mean over the last 100 episodes"


def smoothed(returns: np.ndarray, length: int = 100, **more: np.ndarray) -> Run:
    """A run that logs at the end of each episode what Stable-Baselines3 logs: means over all episodes so far."""
    count = np.arange(1, len(returns) + 1)
    window = [returns[max(0, k - 100) : k].mean() for k in count]
    curves = {"reward.mean": np.array(window), "episode.length": np.full(len(returns), float(length)), **more}
    made = run(curves, trainer="sb3", algorithm="sac")
    series = {name: replace(curve, steps=count * float(length)) for name, curve in made.series.items()}
    series["reward.mean"] = replace(series["reward.mean"], note=NOTE)
    return replace(made, series=series)


RETURNS = -600 + 80 * noise(20, seed=3)


@pytest.mark.parametrize("counted", [True, False])
def test_the_episodes_themselves_are_the_training_score(counted: bool) -> None:
    more = {"progress.episodes": np.arange(1, 21.0)} if counted else {}
    score = Inputs(smoothed(RETURNS, length=100 if not counted else 97, **more)).training_score
    assert score is not None
    assert score.values == pytest.approx(RETURNS)


def test_a_first_episode_that_was_lucky_is_no_fall() -> None:
    lucky = np.concatenate([[-400.0], RETURNS[1:]])
    dx = diagnose(smoothed(lucky))
    assert not {"score-below-start", "score-lost"} & {o.detector for o in dx.findings}
    assert dx.verdict.action in (Action.CONTINUE, Action.WATCH)


def test_a_mean_whose_episodes_are_not_known_stays_as_it_is() -> None:
    """Rows in the middle of episodes; and more episodes than the window has."""
    between = smoothed(RETURNS, length=97)
    between.series["episode.length"].values[:] = 83.3
    long = smoothed(-600 + 80 * noise(150, seed=4))
    for made in (between, long):
        score = Inputs(made).training_score
        assert score is not None
        assert score.values == pytest.approx(made.series["reward.mean"].values)


def test_the_mean_reward_of_a_step_is_no_return() -> None:
    returns = np.linspace(20, 400, 50)
    curves = {"reward.mean": np.ones(50), "reward.episode": returns, "episode.length": returns}
    score = Inputs(run(curves, trainer="cleanrl", algorithm="ppo")).training_score
    assert score is not None
    assert score.name == "reward.episode"


def test_a_mean_return_beside_single_ones_stays_the_score() -> None:
    returns = np.linspace(20, 400, 50)
    curves = {"reward.mean": returns, "reward.episode": returns + noise(50, 20), "episode.length": returns}
    score = Inputs(run(curves, trainer="cleanrl", algorithm="ppo")).training_score
    assert score is not None
    assert score.name == "reward.mean"
