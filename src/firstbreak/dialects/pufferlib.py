"""PufferLib 3: wandb or Neptune. `losses/` in a log are those of the log before it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "PufferLib"

MARKS = frozenset(
    {
        "environment/episode_return",
        "environment/episode_length",
        "environment/score",
        "environment/perf",
        "environment/n",
        "losses/importance",
        "agent_steps",
        "uptime",
        "performance/env",
        "performance/eval_forward",
        "performance/train_misc",
    }
)
CONFIG_MARKS = frozenset({"train.bptt_horizon", "train.update_epochs", "train.total_timesteps", "bptt_horizon"})

AXIS = ("agent_steps", "step", "_step")

_LAG = "of the log before this one"

NAMES: dict[str, str | Name] = {
    "agent_steps": "progress.env_steps",
    "epoch": "progress.iterations",
    "uptime": "time.elapsed",
    "SPS": Name("throughput.sps", note="since the log before this one"),
    "learning_rate": "lr",
    # what the environments send
    "environment/episode_return": Name("reward.mean", note="before the clamp to [-1, 1] that training sees"),
    "environment/episode_length": "episode.length",
    "environment/score": "score.mean",
    "environment/<path:name>": "custom.<name>",
    # losses
    "losses/policy_loss": Name("policy.loss", note=_LAG),
    "losses/approx_kl": Name("kl.old.k3", note=_LAG),
    "losses/old_approx_kl": Name("kl.old.k1", note=_LAG),
    "losses/clipfrac": Name("policy.clip_fraction", note=_LAG),
    "losses/importance": Name("policy.ratio.mean", note=_LAG),
    "losses/entropy": Name("policy.entropy", note=_LAG),
    "losses/value_loss": Name("value.loss", note=f"half of the squared error, {_LAG}"),
    "losses/explained_variance": Name("value.explained_variance", note=f"with values updated on the way: rosy; {_LAG}"),
    # time: cumulative seconds of each phase
    "performance/eval": Name("time.rollout", note="cumulative"),
    "performance/train": Name("time.train", note="cumulative"),
    "performance/<phase>": Name("time.<phase>", note="cumulative"),
}

NOT_CONVERTED = {"(lag)": "a remark on the losses, not a metric"}

CONFIG = {
    "train.learning_rate": "learning_rate",
    "train.max_grad_norm": "grad_clip",
    "train.batch_size": "batch_size",
    "train.minibatch_size": "minibatch_size",
    "train.bptt_horizon": "n_steps",
    "train.update_epochs": "epochs_per_batch",
    "train.clip_coef": "clip_range",
    "train.vf_clip_coef": "clip_range_value",
    "train.ent_coef": "entropy_coef",
    "train.vf_coef": "value_coef",
    "train.gamma": "gamma",
    "train.gae_lambda": "gae_lambda",
    "train.total_timesteps": "total_steps",
    "train.seed": "seed",
    "env_name": "env_id",
}

LOG = {
    "reward.mean": "let the environment's Log struct hold episode_return",
    "eval.reward": "not logged: run `puffer eval` on checkpoints",
    "grad.norm": "not logged by PufferLib",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """PPO is the only method."""
    return "ppo"
