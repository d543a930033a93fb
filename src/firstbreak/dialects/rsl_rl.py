"""rsl_rl, the PPO of legged_gym and Isaac Lab: TensorBoard or the console, on an axis of iterations.

Isaac Lab's environments add `Episode_Reward/<term>`, `Episode_Termination/<term>`, `Curriculum/<term>` and
`Metrics/<command>/<error>` of the episodes that ended in the iteration.
Source: rsl_rl/utils/logger.py and algorithms/ppo.py (5.4); runners/on_policy_runner.py (1.0 to 3)
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "rsl_rl"

MARKS = frozenset(
    {
        "Loss/value_function",
        "Loss/surrogate",
        "Policy/mean_noise_std",
        "Policy/mean_std",
        "Perf/total_fps",
        "Perf/collection time",
        "Perf/collection_time",
        "Perf/learning_time",
        "Train/mean_reward",
        "Train/mean_episode_length",
        "Train/mean_reward/time",
        "Train/mean_episode_length/time",
        "Mean action noise std",
        "Mean action std",
        "Mean surrogate loss",
        "Mean value_function loss",
        "Surrogate loss",
        "Value function loss",
    }
)
CONFIG_MARKS = frozenset({"num_steps_per_env", "num_mini_batches", "num_learning_epochs", "desired_kl"})

AXIS = ("Learning iteration",)
STEP = "iteration"

_LATEST = "mean over the last 100 episodes"
_PER_SECOND = "sum over an episode, divided by its longest duration in seconds"
_ENTROPY = "differential: may be negative"

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    "Train/mean_reward": Name("reward.mean", note=_LATEST),
    "Train/mean_episode_length": Name("episode.length", note=_LATEST),
    "Episode_Reward/<path:term>": Name("reward.component.<term>.mean", note=_PER_SECOND),
    "Episode/rew_<path:term>": Name("reward.component.<term>.mean", note=_PER_SECOND),
    "Rnd/mean_extrinsic_reward": Name("reward.component.extrinsic.mean", note=_LATEST),
    "Rnd/mean_intrinsic_reward": Name("reward.component.intrinsic.mean", note=_LATEST),
    # the update
    "Loss/value_function": "value.loss",
    "Loss/value": "value.loss",
    "Loss/surrogate": Name("policy.loss", note="advantages normalised: near 0 by construction"),
    "Loss/entropy": Name("policy.entropy", note=_ENTROPY),
    "Loss/learning_rate": "lr",
    "Policy/mean_noise_std": "action.std",
    "Policy/mean_std": "action.std",
    # time
    "Perf/total_fps": Name("throughput.sps", note="of the last iteration"),
    "Perf/collection time": "time.rollout",
    "Perf/collection_time": "time.rollout",
    "Perf/learning_time": "time.train",
    # the console
    "Mean reward": Name("reward.mean", note=_LATEST),
    "Mean total reward": Name("reward.mean", note=_LATEST),
    "Mean extrinsic reward": Name("reward.component.extrinsic.mean", note=_LATEST),
    "Mean intrinsic reward": Name("reward.component.intrinsic.mean", note=_LATEST),
    "Mean episode length": Name("episode.length", note=_LATEST),
    "Mean episode rew_<path:term>": Name("reward.component.<term>.mean", note=_PER_SECOND),
    "Mean value_function loss": "value.loss",
    "Mean value loss": "value.loss",
    "Value function loss": "value.loss",
    "Mean surrogate loss": "policy.loss",
    "Surrogate loss": "policy.loss",
    "Mean entropy loss": Name("policy.entropy", note=_ENTROPY),
    "Mean action noise std": "action.std",
    "Mean action std": "action.std",
    "Steps per second": Name("throughput.sps", note="of the last iteration"),
    "Collection time": "time.rollout",
    "Learning time": "time.train",
    "Iteration time": "time.iteration",
    "Total timesteps": "progress.env_steps",
    "Total steps": "progress.env_steps",
    "Learning iteration": "progress.iterations",
}

_SECONDS = "a copy whose step is the time in seconds"
NOT_CONVERTED = {"Train/mean_reward/time": _SECONDS, "Train/mean_episode_length/time": _SECONDS}

CONFIG = {
    "learning_rate": "learning_rate",
    "num_learning_epochs": "epochs_per_batch",
    "num_mini_batches": "minibatches",
    "num_steps_per_env": "n_steps",
    "num_envs": "n_envs",
    "max_iterations": "total_steps",
    "clip_param": "clip_range",
    "entropy_coef": "entropy_coef",
    "value_loss_coef": "value_coef",
    "max_grad_norm": "grad_clip",
    "desired_kl": "target_kl",
    "gamma": "gamma",
    "lam": "gae_lambda",
    "experiment_name": "env_id",
    "seed": "seed",
}

LOG = {
    "kl.old": "with schedule='adaptive' the learning rate follows it; log kl_mean in PPO.update()",
    "policy.clip_fraction": "log (abs(ratio - 1) > clip_param).mean() in PPO.update()",
    "value.explained_variance": "log 1 - Var(returns - values) / Var(returns) of the storage in PPO.update()",
    "grad.norm": "log what clip_grad_norm_ returns in PPO.update()",
    "eval.reward": "play the policy without noise now and then, and log its return as `Eval/reward`",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """PPO, or the distillation of a teacher, which has no surrogate loss."""
    return "ppo" if names & {"Loss/surrogate", "Mean surrogate loss", "Surrogate loss"} else None
