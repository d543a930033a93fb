"""PyMARL and EPyMARL: returns of a team, sampled in training and greedy under `test_`, over environment steps.

Source: pymarl/src/learners/q_learner.py, epymarl/src/learners/{q,actor_critic,ppo}_learner.py, src/runners/*_runner.py
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "PyMARL, EPyMARL"

MARKS = frozenset(
    {
        "ep_length_mean",
        "test_ep_length_mean",
        "test_return_mean",
        "test_battle_won_mean",
        "agent_grad_norm",
        "pi_max",
        "q_taken_mean",
        "target_mean",
        "td_error_abs",
    }
)
PREFIXES = {"test_": "eval"}
STEP = "env_steps"
AXIS = ("t_env",)

_TEAM = "sum over the agents of a team, mean over the episodes since the last line"

NAMES: dict[str, str | Name] = {
    "return_mean": Name("reward.mean", note=_TEAM),
    "return_std": "reward.std",
    "total_return_mean": Name("reward.mean", note=_TEAM),
    "total_return_std": "reward.std",
    "agent_<int:i>_return_mean": "reward.mean@agent<i>",
    "ep_length_mean": "episode.length",
    "battle_won_mean": "success_rate",
    "episode": "progress.episodes",
    "epsilon": "epsilon",
    # learners of values
    "loss": "value.loss",
    "loss_td": "value.loss",
    "td_error_abs": Name("td_error", note="mean absolute error"),
    "q_taken_mean": "value.mean",
    "target_mean": "value.target.mean",
    "grad_norm": "grad.norm",
    # learners of policies
    "pg_loss": "policy.loss",
    "critic_loss": "value.loss",
    "centralV_loss": "value.loss",
    "agent_grad_norm": "grad.norm",
    "critic_grad_norm": "value.grad_norm",
    "advantage_mean": "advantage.mean",
    "pi_entropy": "policy.entropy",
}

CONFIG = {
    "lr": "learning_rate",
    "gamma": "gamma",
    "batch_size": "batch_size",
    "batch_size_run": "n_envs",
    "buffer_size": "buffer_size",
    "epochs": "epochs_per_batch",
    "eps_clip": "clip_range",
    "entropy_coef": "entropy_coef",
    "grad_norm_clip": "grad_clip",
    "t_max": "total_steps",
    "env": "env_id",
    "seed": "seed",
}

LOG = {
    "reward.mean": "lower runner_log_interval",
    "eval.reward": "lower test_interval",
    "policy.entropy": "add the entropy of pi to ppo_learner.py's log_stat calls",
}

_METHODS = {"ppo_learner": "ppo", "actor_critic_learner": "a2c", "q_learner": "dqn"}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From the learner's name; else Q-learning by what only it logs."""
    if method := _METHODS.get(str(config.get("learner", ""))):
        return method
    if "q_taken_mean" in names and "pg_loss" not in names:
        return "dqn"
    return None
