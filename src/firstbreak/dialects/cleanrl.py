"""CleanRL: single-file scripts that write TensorBoard (and wandb). Most losses are of the last minibatch only."""

import re
from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "CleanRL"

MARKS = word_set("""
    charts/episodic_return charts/episodic_length charts/avg_episodic_return charts/SPS charts/SPS_update
    charts/learning_rate charts/epsilon charts/beta losses/td_loss losses/qf1_values losses/qf1_loss losses/qf_loss
    losses/fwd_loss losses/aux/kl_loss
""")
CONFIG_MARKS = frozenset({"clip_coef", "clip_vloss", "exp_name", "torch_deterministic", "norm_adv"})

AXIS = ("global_step", "step")
STEP = "env_steps"

_LAST = "last minibatch of the update only"
_EPISODE = "single episodes, several may share a step"

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    "charts/avg_episodic_return": Name("reward.mean", note="mean over the last 20 episodes"),
    "charts/episodic_return": Name("reward.episode", note=_EPISODE),
    "charts/episodic_length": Name("episode.length", note=_EPISODE),
    "eval/episodic_return": Name("eval.reward", note="once at the end: the step is the number of the episode"),
    "eval/episodic_length": "eval.episode_length",
    # the policy update
    "losses/policy_loss": Name("policy.loss", note=_LAST),
    "losses/actor_loss": Name("policy.loss@actor", note="minus a Q value: follows the size of Q"),
    "losses/approx_kl": Name("kl.old.k3", note=_LAST),
    "losses/old_approx_kl": Name("kl.old.k1", note=_LAST),
    "losses/aux/kl_loss": "kl.aux",
    "losses/clipfrac": "policy.clip_fraction",
    "charts/learning_rate": "lr",
    # the critic
    "losses/value_loss": Name("value.loss", note=f"half of the squared error, clipped by default; {_LAST}"),
    "losses/qf_loss": "value.loss",
    "losses/td_loss": Name("value.loss", note="one batch"),
    "losses/loss": Name("value.loss", note="C51: cross-entropy of one batch"),
    "losses/qf1_loss": "value.loss@qf1",
    "losses/qf2_loss": "value.loss@qf2",
    "losses/aux/aux_value_loss": "value.loss@aux",
    "losses/aux/real_value_loss": "value.loss@real",
    "losses/explained_variance": Name("value.explained_variance", note="with the values of the rollout"),
    "losses/q_values": Name("value.mean", note="one batch"),
    "losses/qf1_values": "value.mean",
    "losses/qf2_values": "value.mean@qf2",
    # exploration
    "losses/entropy": Name("policy.entropy", note=f"summed over action dimensions; {_LAST}"),
    "losses/alpha": "alpha",
    "losses/alpha_loss": "alpha.loss",
    "losses/fwd_loss": "curiosity.loss",
    "charts/epsilon": "epsilon",
    "charts/beta": "replay.is_beta",
    # throughput
    "charts/SPS": Name("throughput.sps", note="mean since the start"),
    "charts/SPS_update": "throughput.sps_instant",
    "global_step": "progress.env_steps",
}

CONFIG = meanings("""
    batch_size minibatch_size target_kl gamma gae_lambda buffer_size learning_starts tau exploration_fraction
        seed | learning_rate: learning_rate policy_lr | value_learning_rate: q_lr | grad_clip: max_grad_norm |
    n_envs: num_envs | n_steps: num_steps | minibatches: num_minibatches | epochs_per_batch: update_epochs |
    clip_range: clip_coef | entropy_coef: ent_coef | value_coef: vf_coef | normalize_advantage: norm_adv |
    train_freq: train_frequency | policy_delay: policy_frequency | target_update_interval: target_network_frequency |
    action_noise: exploration_noise | exploration_initial: start_e | exploration_final: end_e |
    total_steps: total_timesteps | env_id: env_id gym_id
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "ppo": options("""
        n_envs=4 n_steps=128 minibatches=4 epochs_per_batch=4 learning_rate=2.5e-4 clip_range=0.2 entropy_coef=0.01
        value_coef=0.5 grad_clip=0.5 gamma=0.99 gae_lambda=0.95 normalize_advantage=True
    """)
}

LOG = {
    "reward.mean": "wrap the environment in RecordEpisodeStatistics; each episode is logged",
    "eval.reward": "call the script's evaluate() during training, not only with --save-model at the end",
    "grad.norm": "log what nn.utils.clip_grad_norm_ returns",
    "success_rate": "log info['success'] beside the episodic return",
    "advantage.std": "log b_advantages.std() before it is normalised",
    "epsilon": "add writer.add_scalar('charts/epsilon', epsilon, global_step) to dqn.py",
}


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The value is clipped by the range of the ratio."""
    return {"clip_range_value": values.get("clip_range")} if config.get("clip_vloss") is True else {}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The script's own name; else from what only one method logs."""
    if match := re.match(r"(ppo|dqn|c51|sac|td3|ddpg|rainbow|pqn|ppg|rpo|qdagger)", str(config.get("exp_name", ""))):
        return match[1]
    tells = (
        ("losses/approx_kl", "ppo"),
        ("losses/alpha", "sac"),
        ("losses/td_loss", "dqn"),
        ("losses/qf_loss", "td3"),
        ("losses/qf1_loss", "td3"),
    )
    return next((method for name, method in tells if name in names), None)
