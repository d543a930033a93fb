"""reward-saturated: a reward that is at its top from the start."""

from __future__ import annotations

import numpy as np

from firstbreak.engine.diagnose import diagnose
from tests.make import noise, run

ID = "reward-saturated"
N = 120
EQUAL = {"reward.zero_std_frac": 0.95 + noise(N, 0.01), "length.mean": 200 + noise(N, 5)}


def test_a_reward_near_1_from_the_first_step() -> None:
    rewards = {"reward.mean": np.clip(0.985 + noise(N, 0.005), 0, 1)}
    dx = diagnose(run(rewards | EQUAL, algorithm="grpo"))
    assert ID in [c.id for c in dx.causes if c.link is not None][:2]


def test_a_reward_that_rises_to_1() -> None:
    rewards = {"reward.mean": np.clip(np.linspace(0.3, 0.99, N) + noise(N, 0.005), 0, 1)}
    dx = diagnose(run(rewards | {"length.mean": EQUAL["length.mean"]}, algorithm="grpo"))
    assert all(cause.id != ID or cause.probability < 0.02 for cause in dx.causes)
