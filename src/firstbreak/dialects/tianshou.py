"""Tianshou: `training/` and `test/` are on an axis of environment steps, `update/` on one of gradient steps."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "Tianshou"

MARKS = frozenset(
    {
        "training/returns_stat/mean",
        "training/lens_stat/mean",
        "training/collect_speed",
        "training/env_step",
        "test/returns_stat/mean",
        "update/actor_loss/mean",
        "update/vf_loss/mean",
        "update/ent_loss/mean",
        "update/critic1_loss",
        "update/train_time",
        "update/gradient_step",
        "info/best_reward",
        "train/n/ep",
        "test/reward_std",
        "test/length_std",
        "test/env_step",
        "save/env_step",
    }
)

AXIS = ("training/env_step", "train/env_step", "env_step")

_COLLECT = "over the episodes that ended in this collect; 0 where none ended"

NAMES: dict[str, str | Name] = {
    # progress
    "training/env_step": "progress.env_steps",
    "train/env_step": "progress.env_steps",
    "save/env_step": "progress.env_steps",
    "test/env_step": "eval.progress.env_steps",
    "update/gradient_step": "progress.updates",
    "training/collect_speed": "throughput.sps",
    "training/collect_time": "time.rollout",
    "update/train_time": "time.train",
    "info/timing/<what>": "time.<what>",
    # rewards and episodes
    "training/returns_stat/<stat>": Name("reward.<stat>", note=_COLLECT),
    "training/lens_stat/<stat>": Name("episode.length.<stat>", note=_COLLECT),
    "train/reward": Name("reward.mean", note=_COLLECT),
    "train/length": Name("episode.length", note=_COLLECT),
    "training/n_collected_episodes": "progress.episodes_iter",
    "training/n_collected_steps": "progress.env_steps_iter",
    "test/returns_stat/<stat>": "eval.reward.<stat>",
    "test/lens_stat/<stat>": "eval.episode_length.<stat>",
    "test/reward": "eval.reward",
    "test/reward_std": "eval.reward.std",
    "test/length": "eval.episode_length",
    "test/length_std": "eval.episode_length.std",
    "info/best_reward": "eval.reward.best",
    "info/best_score": "eval.reward.best",
    # the update
    "update/loss/<stat>": "loss.total.<stat>",
    "update/loss": "loss.total",
    "update/actor_loss/<stat>": "policy.loss.<stat>",
    "update/actor_loss": Name("policy.loss", note="minus a Q value: follows the size of Q"),
    "update/loss/clip": "policy.loss",
    "update/kl/<stat>": Name("kl.old.<stat>", note="analytic; NPG and TRPO only"),
    "update/vf_loss/<stat>": Name("value.loss.<stat>", note="squared error, not halved"),
    "update/loss/vf": "value.loss",
    "update/critic_loss": "value.loss",
    "update/critic1_loss": "value.loss",
    "update/critic2_loss": "value.loss@critic2",
    "update/loss/critic<int:i>": "value.loss@critic<i>",
    "update/ent_loss/<stat>": Name("policy.entropy.<stat>", note="plus the entropy, in spite of the name"),
    "update/loss/ent": Name("policy.entropy", note="plus the entropy, in spite of the name"),
    "update/alpha": "alpha",
    "update/alpha_loss": "alpha.loss",
    "update/loss/alpha": "alpha.loss",
    "training/pred_dist_std_array_stat/<dim>/<stat>": "action.std.<stat>@<dim>",
}

LOG = {
    "kl.old": "PPO logs neither a divergence nor a clip fraction; NPG and TRPO log update/kl",
    "policy.clip_fraction": "PPO logs neither a divergence nor a clip fraction",
    "eval.reward": "give the trainer a test collector",
    "grad.norm": "not logged by Tianshou",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs."""
    if any(name.startswith(("update/alpha", "update/critic1_loss")) for name in names):
        return "sac" if any(name.startswith("update/alpha") for name in names) else "td3"
    if any(name.startswith("update/kl") for name in names):
        return "trpo"
    if any(name.startswith(("update/vf_loss", "update/loss/vf")) for name in names):
        return "ppo"
    return "dqn" if any(name.startswith("update/loss") for name in names) else None
