"""value-loss-vanishes: a critic whose targets do not depend on how episodes end."""

import numpy as np

from tests.detectors.look import expected, found, look, silent
from tests.make import noise, run

ID = "value-loss-vanishes"
N = 100
VARYING = np.abs(100 + noise(N, 30))


def test_a_loss_that_vanishes_while_returns_vary_is_found() -> None:
    loss = 100 * np.exp(-np.arange(N) / 10) + 0.001
    finding = found(ID, run({"value.loss": loss, "reward.episode": VARYING}, algorithm="ppo"))
    assert finding.onset is not None
    assert finding.onset < 60


def test_a_critic_that_learns_is_healthy() -> None:
    loss = 100 * np.exp(-np.arange(N) / 10) + 20
    assert silent(ID, run({"value.loss": loss, "reward.episode": VARYING}, algorithm="ppo"))


def test_episodes_that_all_end_alike_explain_it() -> None:
    loss = 100 * np.exp(-np.arange(N) / 10) + 0.001
    expected(ID, run({"value.loss": loss, "reward.episode": np.full(N, 500.0)}, algorithm="ppo"))


def test_a_loss_that_is_small_in_most_minibatches_is_healthy() -> None:
    ends = np.arange(N) % 9 == 0  # with five steps per update, few minibatches see the end of an episode
    loss = np.where(ends, 50 + noise(N, 5), 0.01)
    assert silent(ID, run({"value.loss": loss, "reward.episode": VARYING}, algorithm="a2c"))


def test_a_critic_that_explains_the_returns_has_learned_them() -> None:
    curves = {"value.loss": 100 * np.exp(-np.arange(N) / 10) + 0.001, "reward.episode": VARYING}
    assert look(ID, run({**curves, "value.explained_variance": np.linspace(0, 0.98, N)}, algorithm="ppo")).expected
    found(ID, run({**curves, "value.explained_variance": noise(N, 0.1)}, algorithm="ppo"))


def test_a_loss_that_falls_as_the_square_of_the_returns_is_healthy() -> None:
    returns = -1200 * np.exp(-np.arange(N) / 20) - 60 + noise(N, 15)  # a pendulum that learns to stand
    assert silent(ID, run({"value.loss": returns**2 / 100 + 1, "reward.episode": returns}, algorithm="ppo"))


def test_a_running_mean_that_rises_does_not_show_that_episodes_differ() -> None:
    loss = 100 * np.exp(-np.arange(N) / 10) + 0.001
    assert silent(ID, run({"value.loss": loss, "episode.length": np.linspace(20, 160, N)}, algorithm="ppo"))


def test_the_first_updates_of_an_untrained_critic_are_no_level() -> None:
    loss = np.concatenate([np.full(10, 1000.0), np.full(1990, 1.0)])
    lengths = np.abs(100 + noise(2000, 30))
    assert silent(ID, run({"value.loss": loss, "episode.length": lengths}, algorithm="ppo"))
