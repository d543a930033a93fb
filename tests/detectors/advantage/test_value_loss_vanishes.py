"""value-loss-vanishes: a critic with nothing left to predict."""

from __future__ import annotations

import numpy as np

from tests.detectors.look import found, look, silent
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
    outcome = look(ID, run({"value.loss": loss, "reward.episode": np.full(N, 500.0)}, algorithm="ppo"))
    assert outcome.expected


def test_a_loss_that_is_small_in_most_minibatches_is_healthy() -> None:
    ends = np.arange(N) % 9 == 0  # with five steps per update, few minibatches see the end of an episode
    loss = np.where(ends, 50 + noise(N, 5), 0.01)
    assert silent(ID, run({"value.loss": loss, "reward.episode": VARYING}, algorithm="a2c"))
