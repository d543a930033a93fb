"""PPO-PyTorch (nikhilbarhate99): a CSV of episode, timestep and the mean reward since the row before."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "PPO-PyTorch"

MARKS: frozenset[str] = frozenset()
ALONE = frozenset({"episode", "timestep", "reward"})

AXIS = ("timestep", "episode")

NAMES: dict[str, str | Name] = {
    "episode": "progress.episodes",
    "timestep": "progress.env_steps",
    "reward": Name("reward.mean", note="mean return of the episodes since the row before"),
}

LOG = {
    "policy.entropy": "log dist_entropy.mean() in PPO.update",
    "kl.old": "log (old_logprobs - logprobs).mean() in PPO.update",
    "value.loss": "log the critic's MseLoss in PPO.update",
    "eval.reward": "run test.py on checkpoints during training",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """PPO is the only method."""
    return "ppo"
