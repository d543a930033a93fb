"""Dreamer, in danijar's versions and the PyTorch port of the third: the step counts environment steps."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "Dreamer"

MARKS = frozenset(
    {
        "sim/episodes",
        "sim/train/return",
        "sim/train/length",
        "train_return",
        "train_length",
        "train_episodes",
        "dataset_size",
        "model_grad_norm",
        "actor_entropy",
        "episode/score",
        "episode/sum_abs_reward",
        "episode/reward_rate",
    }
)
STRONG = (frozenset({"train/return", "train/length", "episodes"}),)

PREFIXES = {"sim/": ""}

AXIS = ("step",)
STEP = "env_steps"

_WORLD_MODEL = "about the world model's states rather than the policy"
NOT_CONVERTED = {name: _WORLD_MODEL for name in ("kl", "kl_loss", "dyn_loss", "rep_loss", "prior_ent", "post_ent")}

NAMES: dict[str, str | Name] = {
    "train/return": "reward.mean",
    "train/length": "episode.length",
    "test/return": "eval.reward",
    "test/length": "eval.episode_length",
    "episodes": "progress.episodes",
    "train_return": "reward.mean",
    "train_length": "episode.length",
    "train_episodes": "progress.episodes",
    "eval_return": "eval.reward",
    "eval_length": "eval.episode_length",
    "eval_episodes": "eval.progress.episodes",
    "episode/score": "reward.mean",
    "episode/length": "episode.length",
    "actor_entropy": "policy.entropy",
    "actor_loss": Name("policy.loss", note="on imagined trajectories"),
    "value_loss": Name("value.loss", note="on imagined trajectories"),
    "actor_grad_norm": "grad.norm",
    "value_grad_norm": "value.grad_norm",
    "model_loss": "loss.aux",
}

LOG = {
    "eval.reward": "raise the number of evaluation episodes above 0",
    "kl.old": "the actor is not bounded by a divergence, and none is logged",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The only one."""
    return "dreamer"
