"""skrl: `Group / Name (statistic)` in TensorBoard, on an axis of time steps of each environment.

Sources: skrl/agents/torch/base.py (rewards, lengths), the agents' own files (losses); names with `(<agent>)` are those of
multi-agent training.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "skrl"

MARKS = frozenset(
    {
        "Reward/Total reward (mean)",
        "Reward/Instantaneous reward (mean)",
        "Episode/Total timesteps (mean)",
        "Stats/Algorithm update time (ms)",
        "Stats/Env stepping time (ms)",
        "Loss/Policy loss",
        "Policy/Standard deviation",
        "Q-network/Q1 (mean)",
        "Target/Target (mean)",
        "Coefficient/Entropy coefficient",
        "Exploration/Exploration epsilon",
        "Loss/Q-network loss",
        "Learning/Policy learning rate",
    }
)

_LATEST = "over at most 100 episodes that ended since the last write"
_SUM = "of the environment steps since the last write, all environments together"

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    **{f"Reward/Total reward ({s})": Name(f"reward.{s}", note=_LATEST) for s in ("mean", "min", "max")},
    **{f"Reward/Instantaneous reward ({s})": Name(f"reward.step.{s}", note=_SUM) for s in ("mean", "min", "max")},
    "Episode/Total timesteps (mean)": Name("episode.length", note=_LATEST),
    **{f"Episode/Total timesteps ({s})": Name(f"episode.length.{s}", note=_LATEST) for s in ("min", "max")},
    # the update
    "Loss/Policy loss": "policy.loss",
    "Loss/Policy loss (<agent>)": "policy.loss@<agent>",
    "Loss/Value loss": Name("value.loss", note="with its weight"),
    "Loss/Value loss (<agent>)": Name("value.loss@<agent>", note="with its weight"),
    "Loss/Entropy loss": Name("entropy.loss", note="not logged where the weight is 0"),
    "Loss/Entropy loss (<agent>)": "entropy.loss@<agent>",
    "Loss/Critic loss": Name("value.loss", note="of all critics together"),
    "Loss/Q-network loss": "value.loss",
    "Loss/Discriminator loss": "loss.total@discriminator",
    "Policy/Standard deviation": "action.std",
    "Policy/Standard deviation (<agent>)": "action.std@<agent>",
    "Learning/Learning rate": "lr",
    "Learning/Learning rate (<agent>)": "lr@<agent>",
    "Learning/Policy learning rate": "lr",
    "Learning/Policy learning rate (<agent>)": "lr@<agent>",
    "Learning/Value learning rate (<agent>)": "value.lr@<agent>",
    "Learning/Critic learning rate": "value.lr",
    "Learning/Value learning rate": "value.lr",
    "Coefficient/Entropy coefficient": "alpha",
    # off-policy critics
    "Q-network/Q1 (mean)": "value.mean",
    "Q-network/Q1 (min)": "value.min",
    "Q-network/Q1 (max)": "value.max",
    **{f"Q-network/Q2 ({s})": f"value.{s}@q2" for s in ("mean", "min", "max")},
    **{f"Target/Target ({s})": f"value.target.{s}" for s in ("mean", "min", "max")},
    "Exploration/Exploration epsilon": "epsilon",
    # time
    "Stats/Algorithm update time (ms)": Name("time.train", 0.001),
    "Stats/Env stepping time (ms)": Name("time.env", 0.001),
    "Stats/Inference time (ms)": Name("time.inference", 0.001),
}

NOT_CONVERTED = {
    "Coefficient/Return threshold": "a threshold of the cross-entropy method, in the units of its returns",
    "Coefficient/Mean discounted returns": "of the episodes that the cross-entropy method chose, not of all",
    **{
        f"Exploration/Exploration noise ({s})": "single samples of the noise, not its spread"
        for s in ("mean", "min", "max")
    },
}

CONFIG = {
    "learning_rate": "learning_rate",
    "learning_epochs": "epochs_per_batch",
    "mini_batches": "minibatches",
    "rollouts": "n_steps",
    "discount_factor": "gamma",
    "gae_lambda": "gae_lambda",
    "lambda": "gae_lambda",
    "ratio_clip": "clip_range",
    "value_clip": "clip_range_value",
    "entropy_loss_scale": "entropy_coef",
    "value_loss_scale": "value_coef",
    "grad_norm_clip": "grad_clip",
    "kl_threshold": "target_kl",
    "batch_size": "minibatch_size",
    "gradient_steps": "gradient_steps",
    "polyak": "tau",
    "learning_starts": "learning_starts",
    "timesteps": "total_steps",
    "seed": "seed",
}

LOG = {
    "reward.mean": "logged every experiment.write_interval time steps; set it in the agent's configuration",
    "entropy.loss": "set entropy_loss_scale above 0",
    "lr": "logged with a learning_rate_scheduler only",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """The entropy loss of soft actor-critic is that of its temperature."""
    return {"Loss/Entropy loss": "alpha.loss"} if "Coefficient/Entropy coefficient" in names else {}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one family of agents logs. A2C, TRPO and RPO log the names of PPO, and are taken for it."""
    if "Coefficient/Entropy coefficient" in names:
        return "sac"
    if "Loss/Q-network loss" in names:
        return "dqn"
    if "Loss/Critic loss" in names and "Q-network/Q2 (mean)" in names:
        return "td3"
    if "Loss/Critic loss" in names:
        return "ddpg"
    return "ppo" if "Loss/Value loss" in names else None
