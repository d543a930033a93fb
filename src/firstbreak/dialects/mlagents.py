"""Unity ML-Agents: TensorBoard under results/<run>/<behavior>, configuration.yaml, and a summary line on the console.

A step is one decision of one agent.
Source: ml-agents/mlagents/trainers: stats.py, trainer/rl_trainer.py, ppo/optimizer_torch.py, sac/optimizer_torch.py
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, word_set

TITLE = "ML-Agents"

MARKS = word_set("""
    Environment/Cumulative Reward | Environment/Episode Length | Environment/Group Cumulative Reward |
    Environment/Lesson | Policy/Extrinsic Reward | Policy/Extrinsic Value Estimate | Policy/Extrinsic Value |
    Policy/Beta | Losses/Policy Loss | Losses/Q1 Loss | Policy/Continuous Entropy Coeff |
    Policy/Discrete Entropy Coeff | Self-play/ELO | Std of Reward
""")
STRONG = (frozenset({"Mean Reward", "Std of Reward"}),)
CONFIG_MARKS = frozenset({"default_settings", "engine_settings", "env_settings", "time_horizon", "summary_freq"})

AXIS = ("Step",)
STEP = "env_steps"

_SUMMARY = "over the episodes that ended since the last summary"
_SIGNAL = "reward signal with its strength, per episode"

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    "Environment/Cumulative Reward": Name("reward.mean", note=f"return, mean {_SUMMARY}"),
    "Environment/Group Cumulative Reward": Name("reward.mean@group", note=f"of whole groups, mean {_SUMMARY}"),
    "Environment/Episode Length": Name("episode.length", note=_SUMMARY),
    "Policy/<signal> Reward": Name("reward.component.<signal>.mean", note=_SIGNAL),
    "Mean Reward": Name("reward.mean", note=f"return, mean {_SUMMARY}"),
    "Std of Reward": Name("reward.std", note=_SUMMARY),
    # the update
    "Losses/Policy Loss": Name("policy.loss", note="the absolute value in PPO since release 2"),
    "Losses/Value Loss": "value.loss",
    "Losses/Q1 Loss": "value.loss",
    "Losses/Q2 Loss": "value.loss@q2",
    "Policy/Entropy": "policy.entropy",
    "Policy/Learning Rate": "lr",
    "Policy/Epsilon": "policy.clip_range",
    "Policy/Beta": "entropy.coef",
    "Policy/Extrinsic Value Estimate": "value.mean",
    "Policy/Extrinsic Value": "value.mean",
    "Policy/<signal> Value Estimate": "value.mean@<signal>",
    "Policy/Continuous Entropy Coeff": "alpha",
    "Policy/Discrete Entropy Coeff": "alpha@discrete",
    "Policy/Entropy Coeff": "alpha",
    # progress
    "Step": "progress.env_steps",
    "Time Elapsed": "time.elapsed",
}

CONFIG = meanings("""
    learning_rate: learning_rate | epochs_per_batch: num_epoch | clip_range: epsilon | entropy_coef: beta |
    gae_lambda: lambd | gamma: extrinsic.gamma | total_steps: max_steps | tau: tau | n_envs: num_envs |
    lr_schedule: learning_rate_schedule | save_interval: checkpoint_interval
""")

LOG = {
    "reward.mean": "logged every summary_freq steps, once an episode has ended: lower summary_freq, end episodes",
    "kl.old": "ML-Agents logs none; a smaller epsilon and learning_rate bound it",
    "value.explained_variance": "ML-Agents logs none; look whether the value estimate follows the reward",
    "eval.reward": "run mlagents-learn --resume --inference on a build of its own, and keep its summary",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """In self-play what one side wins the other loses, so the rating among past policies is the score."""
    if "Self-play/ELO" not in names:
        return {}
    return {
        "Self-play/ELO": Name("eval.reward", note="ELO rating among past policies"),
        "Environment/Cumulative Reward": Name("reward.component.self-play.mean", note="near 0"),
        "Environment/Group Cumulative Reward": Name("reward.component.self-play-group.mean", note="near 0"),
    }


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The trainer type of the configuration, else what only one trainer logs."""
    kind = next((str(v).lower() for k, v in config.items() if k.rpartition(".")[2] == "trainer_type"), None)
    if kind in ("ppo", "sac"):
        return kind
    if names & {"Losses/Q1 Loss", "Policy/Continuous Entropy Coeff", "Policy/Discrete Entropy Coeff"}:
        return "sac"
    return "ppo" if names & {"Policy/Beta", "Policy/Epsilon"} else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """`buffer_size` is the batch of PPO and the memory of SAC; `batch_size` is what one gradient step sees in both."""
    read = {k.rpartition(".")[2]: v for k, v in config.items() if ".hyperparameters." in f".{k}"}
    replays = algorithm(names, config) == "sac"
    found = {
        "minibatch_size": read.get("batch_size"),
        "buffer_size" if replays else "batch_size": read.get("buffer_size"),
    }
    return {name: value for name, value in found.items() if value is not None}
