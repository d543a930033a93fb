"""critic-not-trained: the first cause where a critic stays as it was, and none where it learns."""

from __future__ import annotations

from firstbreak.engine.diagnose import diagnose
from tests.make import learning, noise, run

ID = "critic-not-trained"
N = 120
POLICY = {"reward.mean": learning(N), "policy.clip_fraction": 0.1 + noise(N, 0.01), "episode.length": 200 + noise(N, 5)}


def test_a_critic_that_predicts_nothing_from_start_to_end() -> None:
    critic = {"value.loss": 1 + noise(N, 0.05), "value.explained_variance": noise(N, 0.002, 1)}
    dx = diagnose(run(POLICY | critic, algorithm="ppo", config={"value_coef": 0.0}))
    assert dx.causes[0].id == ID
    assert any("optimizer" in step for step in dx.causes[0].fix)


def test_a_critic_that_learns() -> None:
    critic = {"value.loss": 1.1 - learning(N), "value.explained_variance": 0.8 * learning(N)}
    dx = diagnose(run(POLICY | critic, algorithm="ppo", config={"value_coef": 0.5}))
    assert all(cause.id != ID or cause.probability < 0.02 for cause in dx.causes)
