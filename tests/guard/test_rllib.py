"""RLlib for real, with its learner in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firstbreak.live.guard.adapters import rllib
from firstbreak.live.guard.guard import Guard
from tests.cluster import cluster
from tests.lazy import lazy

ppo = lazy("ray.rllib.algorithms.ppo")

pytestmark = pytest.mark.trainer


@pytest.fixture
def algorithm() -> Iterator[Any]:
    built: list[Any] = []

    def build(guard: Guard) -> Any:
        config = ppo.PPOConfig().environment("CartPole-v1").env_runners(num_env_runners=0)
        config = config.training(train_batch_size=128, minibatch_size=64, num_epochs=1, grad_clip=0.5)
        built.append(config.callbacks(**rllib.callbacks(guard)).build_algo())
        return built[-1]

    with cluster(cpus=1):
        yield build
        for one in built:
            one.stop()


def test_results_are_read_and_a_stop_ends_the_trial(tmp_path: Path, algorithm: Any) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    training = algorithm(guard)
    assert not training.train()["done"]
    (optimizer,) = training.learner_group._learner._named_optimizers.values()
    assert len(optimizer._optimizer_step_pre_hooks) == 1
    guard.stop("seen enough")
    assert training.train()["done"]
    assert guard.decision.bundle is not None
    run = guard.run()
    assert (run.trainer, run.algorithm) == ("rllib", "ppo")
    assert {"reward.mean", "policy.entropy"} <= set(run.series)
    assert run.config.number("grad_clip") == 0.5
