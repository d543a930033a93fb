"""Dopamine: an iteration is 250,000 agent steps by default. Losses are on an axis of their own, training steps."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "Dopamine"

MARKS = frozenset(
    {
        "Train/AverageReturns",
        "Eval/AverageReturns",
        "Train/NumEpisodes",
        "Eval/NumEpisodes",
        "Train/AverageStepsPerSecond",
        "HuberLoss",
        "CrossEntropyLoss",
        "QuantileLoss",
        "Losses/Critic",
        "Losses/Actor",
        "Losses/Alpha",
        "Values/Alpha",
        "Value[Agent=<agent>]",
        "Value[Agent=<agent>,seed=0]",
        "Value[Agent=<agent>,seed=1]",
    }
)
ALONE = frozenset({"Value"})

AXIS = ("Iteration", "iteration")

_ITERATION = "mean over the episodes of an iteration"

NAMES: dict[str, str | Name] = {
    "Train/AverageReturns": Name("reward.mean", note=_ITERATION),
    "Value": Name("reward.mean", note=f"published baseline: {_ITERATION}"),
    "Value[<labels>]": Name("reward.mean@<labels>", note=f"published baseline: {_ITERATION}"),
    "Eval/AverageReturns": Name("eval.reward", note=_ITERATION),
    "Train/NumEpisodes": "progress.episodes_iter",
    "Eval/NumEpisodes": "eval.progress.episodes_iter",
    "Train/AverageStepsPerSecond": "throughput.sps",
    "HuberLoss": "value.loss",
    "CrossEntropyLoss": "value.loss",
    "QuantileLoss": "value.loss",
    "Losses/Critic": "value.loss",
    "Losses/Actor": "policy.loss",
    "Losses/Entropy": "policy.entropy",
    "Losses/Alpha": "alpha.loss",
    "Values/Alpha": "alpha",
    "Iteration": "progress.iterations",
    "train_episode_returns": Name("reward.episode", note="single episodes"),
    "train_episode_lengths": Name("episode.length", note="single episodes"),
    "eval_episode_returns": "eval.reward",
    "eval_episode_lengths": "eval.episode_length",
}

CONFIG = {
    "JaxDQNAgent.gamma": "gamma",
    "JaxDQNAgent.update_horizon": "n_step_returns",
    "JaxDQNAgent.min_replay_history": "learning_starts",
    "JaxDQNAgent.update_period": "train_freq",
    "JaxDQNAgent.target_update_period": "target_update_interval",
    "JaxDQNAgent.epsilon_train": "exploration_final",
    "create_optimizer.learning_rate": "learning_rate",
    "ReplayBuffer.max_capacity": "buffer_size",
    "ReplayBuffer.batch_size": "minibatch_size",
    "Runner.num_iterations": "total_steps",
    "atari_lib.create_atari_environment.game_name": "env_id",
}

LOG = {
    "eval.reward": "use the schedule continuous_train_and_eval",
    "value.loss": "set agent.summary_writing_frequency; the axis is training steps",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs."""
    tells = (
        ("CrossEntropyLoss", "rainbow"),
        ("QuantileLoss", "iqn"),
        ("HuberLoss", "dqn"),
        ("Values/Alpha", "sac"),
        ("Losses/Entropy", "ppo"),
    )
    return next((method for name, method in tells if name in names), None)
