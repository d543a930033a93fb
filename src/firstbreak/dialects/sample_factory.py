"""Sample Factory: asynchronous PPO; the clip range is [1/(1+c), 1+c]. Learner names are of the last minibatch."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "Sample Factory"

MARKS = frozenset(
    {
        "reward/reward",
        "reward/reward_min",
        "reward/reward_max",
        "len/len",
        "policy_stats/avg_true_objective",
        "train/kl_divergence",
        "train/kl_divergence_max",
        "train/exploration_loss",
        "train/fraction_clipped",
        "train/version_diff_avg",
        "train/adam_max_second_moment",
        "train/max_abs_logprob",
        "train/valids_fraction",
        "perf/_fps",
        "perf/_sample_throughput",
    }
)
CONFIG_MARKS = frozenset({"ppo_clip_ratio", "max_policy_lag", "num_batches_per_epoch", "exploration_loss_coeff"})

AXIS = ("env_steps", "step")

_GAMES = "mean over the last 100 episodes"

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    "reward/reward": Name("reward.mean", note=_GAMES),
    "reward/reward_<stat>": "reward.<stat>",
    "len/len": "episode.length",
    "len/len_<stat>": "episode.length.<stat>",
    "policy_stats/avg_true_objective": "score.mean",
    "policy_stats/avg_<name>": "custom.<name>",
    # the policy update
    "train/loss": "loss.total",
    "train/policy_loss": "policy.loss",
    "train/kl_divergence": Name("kl.old", note="analytic, new against old; last minibatch"),
    "train/kl_divergence_max": "kl.old.max",
    "train/kl_loss": Name("kl.loss", note="times its coefficient: 0 where that is 0"),
    "train/fraction_clipped": Name("policy.clip_fraction", note="outside [1/(1+c), 1+c]"),
    "train/ratio_mean": Name("policy.ratio.absdev", note="mean distance from 1, in spite of the name"),
    "train/ratio_<stat>": "policy.ratio.<stat>",
    "train/lr": "lr",
    "train/actual_lr": Name("lr@actual", note="scaled for masked data"),
    "train/grad_norm": Name("grad.norm", note="after clipping"),
    "train/adam_max_second_moment": "optim.max_second_moment",
    "train/max_abs_logprob": Name("policy.logits_absmax", note="of the action logits, in spite of the name"),
    "train/adv_<stat>": "advantage.<stat>",
    # the critic
    "train/value_loss": Name("value.loss", note="times value_loss_coeff (0.5)"),
    "train/value": Name("value.mean", note="normalised with normalize_returns"),
    # exploration
    "train/entropy": "policy.entropy",
    "train/exploration_loss": Name("entropy.loss", note="minus the coefficient times the entropy"),
    # freshness and data
    "train/version_diff_avg": "staleness.mean",
    "train/version_diff_<stat>": "staleness.<stat>",
    "train/valids_fraction": "data.valid_frac",
    # throughput
    "perf/_fps": Name("throughput.fps", note="over the last 10 s, frame skip counted"),
    "perf/_sample_throughput": "throughput.samples",
}

NOT_CONVERTED = {"(directory)": "the place of the TensorBoard files, not a metric"}

CONFIG = {
    "learning_rate": "learning_rate",
    "lr_schedule": "lr_schedule",
    "max_grad_norm": "grad_clip",
    "rollout": "n_steps",
    "batch_size": "minibatch_size",
    "num_batches_per_epoch": "minibatches",
    "num_epochs": "epochs_per_batch",
    "ppo_clip_ratio": "clip_range",
    "ppo_clip_value": "clip_range_value",
    "lr_schedule_kl_threshold": "target_kl",
    "exploration_loss_coeff": "entropy_coef",
    "value_loss_coeff": "value_coef",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "max_policy_lag": "max_staleness",
    "reward_clip": "reward_clip",
    "normalize_input": "normalize_observation",
    "normalize_returns": "normalize_reward",
    "train_for_env_steps": "total_steps",
    "env": "env_id",
    "seed": "seed",
}

DEFAULTS: dict[str, dict[str, Any]] = {
    "": {
        "grad_clip": 4.0,
        "value_coef": 0.5,
        "clip_range": 0.1,
        "gamma": 0.99,
        "gae_lambda": 0.95,
        "epochs_per_batch": 1,
    }
}

LOG = {
    "eval.reward": "not logged: run the enjoy script on checkpoints",
    "value.explained_variance": "not logged by Sample Factory",
    "success_rate": "report it as true_objective in info['episode_extra_stats']",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """Asynchronous PPO is the only method."""
    return "appo"
