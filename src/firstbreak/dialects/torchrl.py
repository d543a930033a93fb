"""TorchRL: the `sota-implementations` scripts (`train/`, `eval/`) and the Trainer (loss modules' own names)."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "TorchRL"

MARKS = frozenset(
    {
        "train/loss_objective",
        "train/loss_critic",
        "train/loss_entropy",
        "train/clip_epsilon",
        "train/a_loss",
        "train/q_values",
        "train/episode_reward",
        "eval/reward",
        "time/speed",
        "kl_approx",
        "ESS",
        "loss_objective",
        "loss_critic",
        "r_training",
        "r_training_std",
    }
)
CONFIG_MARKS = frozenset(
    {"collector.frames_per_batch", "collector.total_frames", "loss.clip_epsilon", "loss.mini_batch_size"}
)

AXIS = ("collected_frames", "step", "frames")

_ENDED = "mean over the episodes that ended in the batch"

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    "train/reward": Name("reward.mean", note=_ENDED),
    "train/episode_reward": Name("reward.mean", note=_ENDED),
    "train/episode_length": "episode.length",
    "eval/reward": "eval.reward",
    "eval/episode_length": "eval.episode_length",
    "r_training": Name("reward.step.mean", note="per step, not the return of an episode"),
    "r_training_std": "reward.step.std",
    "r_evaluation": "eval.reward",
    # the policy update
    "train/loss_objective": "policy.loss",
    "loss_objective": "policy.loss",
    "train/a_loss": "policy.loss",
    "train/actor_loss": "policy.loss",
    "loss_actor": "policy.loss",
    "kl_approx": "kl.old.k1",
    "train/kl_approx": "kl.old.k1",
    "clip_fraction": Name("policy.clip_fraction", note="of log weights"),
    "train/clip_fraction": Name("policy.clip_fraction", note="of log weights"),
    "train/clip_epsilon": "policy.clip_range",
    "ESS": "policy.ratio.ess",
    "train/ESS": "policy.ratio.ess",
    "train/lr": "lr",
    "lr": "lr",
    "grad_norm": Name("grad.norm", note="before clipping"),
    "train/grad_norm": "grad.norm",
    # the critic
    "train/loss_critic": Name("value.loss", note="times critic_coeff"),
    "loss_critic": Name("value.loss", note="times critic_coeff"),
    "train/q_loss": "value.loss",
    "loss_qvalue": "value.loss",
    "train/q_values": Name("value.mean", note="DQN: a sum over frames_per_batch"),
    "explained_variance": "value.explained_variance",
    "train/explained_variance": "value.explained_variance",
    # exploration
    "train/loss_entropy": Name("entropy.loss", note="minus the coefficient times the entropy"),
    "loss_entropy": Name("entropy.loss", note="minus the coefficient times the entropy"),
    "entropy": "policy.entropy",
    "train/entropy": "policy.entropy",
    "train/epsilon": "epsilon",
    "train/alpha": "alpha",
    "alpha": "alpha",
    "train/alpha_loss": "alpha.loss",
    "loss_alpha": "alpha.loss",
    # time
    "time/speed": "throughput.fps",
    "time/<phase>": "time.<phase>",
}

CONFIG = {
    "optim.lr": "learning_rate",
    "optim.max_grad_norm": "grad_clip",
    "collector.frames_per_batch": "batch_size",
    "collector.total_frames": "total_steps",
    "loss.mini_batch_size": "minibatch_size",
    "loss.ppo_epochs": "epochs_per_batch",
    "loss.clip_epsilon": "clip_range",
    "loss.gamma": "gamma",
    "loss.gae_lambda": "gae_lambda",
    "loss.entropy_coeff": "entropy_coef",
    "loss.critic_coeff": "value_coef",
    "optim.gamma": "gamma",
    "buffer.buffer_size": "buffer_size",
    "buffer.batch_size": "minibatch_size",
    "replay_buffer.size": "buffer_size",
    "collector.init_random_frames": "learning_starts",
    "env.env_name": "env_id",
    "env.name": "env_id",
    "env.seed": "seed",
    "logger.test_interval": "eval_interval",
    "logger.eval_iter": "eval_interval",
}

LOG = {
    "grad.norm": "use the Trainer (it logs grad_norm), or log clip_grad_norm_'s result",
    "kl.old": "log loss['kl_approx'] of ClipPPOLoss",
    "policy.entropy": "log loss['entropy'] of ClipPPOLoss",
    "policy.clip_fraction": "log loss['clip_fraction'] of ClipPPOLoss",
    "value.explained_variance": "log loss['explained_variance'] of ClipPPOLoss",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs."""
    tells = (
        ("train/loss_objective", "ppo"),
        ("loss_objective", "ppo"),
        ("train/alpha", "sac"),
        ("train/a_loss", "td3"),
        ("train/q_values", "dqn"),
    )
    return next((method for name, method in tells if name in names), None)
