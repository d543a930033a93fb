"""RLlib's own PPO on CartPole, with the recorder at its seams: sampling, advantages, loss and optimizer are RLlib's."""

import functools
import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.live.recorder import seams
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.trainers import rllib as hooks
from tests.lazy import lazy, needs
from tests.recorder.trainers_code import measured, proved

gymnasium = lazy("gymnasium")

pytestmark = [pytest.mark.trainer, needs("ray")]
STEPS, UPDATES = 256, 3
TARGETS, GAE = "compute_value_targets", "GeneralAdvantageEstimation.__call__"
LOSS = "PPOTorchLearner.compute_loss_for_module"

Change = Callable[..., Any]


@pytest.fixture(scope="module")
def ppo() -> Any:
    """RLlib's PPO without a cluster: what samples, and what learns."""
    import torch
    from ray.rllib.algorithms.ppo import PPOConfig
    from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

    torch.set_num_threads(1)
    config = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=4)
        .training(train_batch_size=STEPS, minibatch_size=64, num_epochs=2, lr=1e-3)
        .debugging(seed=0)
    )
    learner = config.build_learner(env=gymnasium.make("CartPole-v1"))
    return SimpleNamespace(runner=SingleAgentEnvRunner(config=config), learner=learner)


def trained(
    ppo: Any,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    faults: Mapping[str, Change] | None = None,
    before_the_loss: Change | None = None,
) -> None:
    """Some updates of RLlib's PPO, with changes of its functions, as somebody would make them in its source."""
    record = BatchRecorder(folder, share=1)
    for seam in hooks.SEAMS:
        owner: Any = importlib.import_module(seam.module)
        *owners, last = seam.name.split(".")
        for name in owners:
            owner = getattr(owner, name)
        change = (faults or {}).get(seam.name, lambda original: original)
        monkeypatch.setattr(owner, last, change(getattr(owner, last)))
        seams.open_seam(importlib.import_module(seam.module), seam, record)
        if seam.name == LOSS and before_the_loss is not None:
            setattr(owner, last, before_the_loss(getattr(owner, last)))
    for update in range(1, UPDATES + 1):
        ppo.runner.set_state({"rl_module": ppo.learner.get_state(components="rl_module")["rl_module"]})
        ppo.learner.update(
            episodes=ppo.runner.sample(num_timesteps=STEPS),
            minibatch_size=64,
            num_epochs=2,
            timesteps={"num_env_steps_sampled_lifetime": update * STEPS},
        )


def test_a_sound_training_is_measured_and_proves_nothing(
    ppo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ppo.learner._weights_seq_no
    trained(ppo, tmp_path, monkeypatch)
    expected = {"advantage_error", "through_ends", "target_error", "ratio_first", "gradient_turned", "nonfinite"}
    assert expected <= measured(tmp_path)
    steps = firstbreak.read(tmp_path).series["proof.ratio_first"].steps
    assert steps.tolist() == [before + number for number in range(1, UPDATES + 1)]
    assert proved(tmp_path) == set()


def given(**changed: Callable[[Any], Any]) -> Change:
    """The function gets other arguments than its caller has."""

    def made(original: Change) -> Change:
        @functools.wraps(original)
        def called(*args: Any, **named: Any) -> Any:
            return original(*args, **(named | {name: change(named[name]) for name, change in changed.items()}))

        return called

    return made


def gives(change: Callable[[Any, Mapping[str, Any]], Any]) -> Change:
    """The function gives something else."""

    def made(original: Change) -> Change:
        @functools.wraps(original)
        def called(*args: Any, **named: Any) -> Any:
            return change(original(*args, **named), named)

        return called

    return made


def turned(batch: dict[str, Any], _: Any) -> dict[str, Any]:
    for part in batch.values():
        part["advantages"] = -part["advantages"]
    return batch


def moved(batch: dict[str, Any], _: Any) -> dict[str, Any]:
    for part in batch.values():
        part["advantages"] = part["advantages"].roll(1)
    return batch


def of_another_policy(original: Change) -> Change:
    """What samples stores half a nat less than its policy says."""

    @functools.wraps(original)
    def called(*args: Any, **named: Any) -> Any:
        batch = named["batch"]
        return original(*args, **(named | {"batch": {**batch, "action_logp": batch["action_logp"] - 0.5}}))

    return called


FAULTS: dict[str, tuple[str, Change, set[str]]] = {
    "values across the ends of episodes": (
        TARGETS,
        given(terminateds=np.zeros_like, truncateds=np.zeros_like),
        {"values-through-ends", "advantages-not-of-rewards"},
    ),
    "no value where an episode was cut": (
        TARGETS,
        given(terminateds=lambda ended: np.ones_like(ended)),
        {"advantages-not-of-rewards"},
    ),
    "another discount": (TARGETS, given(gamma=lambda gamma: gamma * 0.9), {"advantages-not-of-rewards"}),
    "targets without the values": (
        TARGETS,
        gives(lambda made, named: made - named["values"]),
        {"targets-not-of-rewards"},
    ),
    "advantages are negated": (GAE, gives(turned), {"advantages-negated"}),
    "advantages of other steps": (GAE, gives(moved), {"advantages-not-of-rewards"}),
    "a minus too many in the loss": (LOSS, gives(lambda loss, _: -loss), {"loss-turned-round"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_proved(ppo: Any, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seam, change, checks = FAULTS[fault]
    trained(ppo, tmp_path, monkeypatch, {seam: change})
    assert proved(tmp_path) & checks


def test_stored_log_probabilities_of_another_policy_are_proved(
    ppo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(ppo, tmp_path, monkeypatch, before_the_loss=of_another_policy)
    assert "ratio-not-one" in proved(tmp_path)
