"""rl_games (Isaac Gym and Isaac Lab): one value is written three times, over frames, epochs and seconds."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, word_set

TITLE = "rl_games"

MARKS = word_set("""
    rewards/step rewards/iter rewards/time shaped_rewards/step episode_lengths/step losses/a_loss losses/c_loss
    losses/bounds_loss losses/c1_loss info/last_lr info/e_clip info/epochs performance/step_inference_rl_update_fps
    performance/rl_update_time diagnostics/exp_var
""")
CONFIG_MARKS = frozenset(
    {"params.config.horizon_length", "params.config.e_clip", "params.algo.name", "params.config.mini_epochs"}
)

AXIS = ("frame", "frames", "step")

_GAMES = "mean over the last 100 episodes"
_KL = "analytic for continuous actions, k2 for discrete ones"

NAMES: dict[str, str | Name] = {
    # rewards and episodes; the copies over epochs and seconds are kept apart
    "rewards/step": Name("reward.mean", note=_GAMES),
    "rewards/<axis>": Name("reward.mean@over <axis>", note=_GAMES),
    "shaped_rewards/step": Name("reward.shaped.mean", note=_GAMES),
    "shaped_rewards/<axis>": Name("reward.shaped.mean@over <axis>", note=_GAMES),
    "episode_lengths/step": Name("episode.length", note=_GAMES),
    "episode_lengths/<axis>": Name("episode.length@over <axis>", note=_GAMES),
    "scores/mean": "score.mean",
    "scores/<axis>": "score.mean@over <axis>",
    "Episode/<part>": Name("reward.component.<part>.mean", note="extras of the environment; the step is the epoch"),
    "Episode_Reward/<part>": Name("reward.component.<part>.mean", note="the step is the epoch"),
    # the policy update
    "losses/a_loss": "policy.loss",
    "losses/bounds_loss": "action.bound_loss",
    "info/kl": Name("kl.old", note=_KL),
    "info/last_lr": "lr",
    "info/e_clip": "policy.clip_range",
    "info/epochs": "progress.iterations",
    "diagnostics/clip_frac/<epoch>": "policy.clip_fraction@mini epoch <epoch>",
    # the critic
    "losses/c_loss": Name("value.loss", note="squared error; values normalised with normalize_value"),
    "losses/c1_loss": "value.loss",
    "losses/c2_loss": "value.loss@c2",
    "diagnostics/exp_var": "value.explained_variance",
    "diagnostics/rms_value/<stat>": "custom.rms_value.<stat>",
    # exploration
    "losses/entropy": Name("policy.entropy", note="summed over action dimensions"),
    "losses/alpha_loss": "alpha.loss",
    "info/alpha": "alpha",
    # time and throughput
    "performance/step_inference_rl_update_fps": Name("throughput.fps", note="rollout and update"),
    "performance/step_inference_fps": "throughput.rollout_fps",
    "performance/step_fps": "throughput.env_fps",
    "performance/rl_update_time": "time.train",
    "performance/update_time": "time.train",
    "performance/step_inference_time": "time.rollout",
    "performance/step_time": "time.env",
}

CONFIG = meanings("""
    learning_rate: params.config.learning_rate | grad_clip: params.config.grad_norm |
    n_envs: params.config.num_actors | n_steps: params.config.horizon_length |
    minibatch_size: params.config.minibatch_size | epochs_per_batch: params.config.mini_epochs |
    clip_range: params.config.e_clip | target_kl: params.config.kl_threshold | lr_schedule: params.config.lr_schedule |
    entropy_coef: params.config.entropy_coef | value_coef: params.config.critic_coef | gamma: params.config.gamma |
    gae_lambda: params.config.tau | normalize_advantage: params.config.normalize_advantage |
    normalize_observation: params.config.normalize_input | total_steps: params.config.max_epochs |
    env_id: params.config.env_name | seed: params.seed
""")

LOG = {
    "policy.clip_fraction": "set use_diagnostics: True",
    "value.explained_variance": "set use_diagnostics: True",
    "reward.component.<func>.mean": "put the parts into extras['episode'] of the environment",
    "success_rate": "put successes into infos['scores'] or extras",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """SAC has two critics; all else is PPO."""
    return "sac" if "losses/c1_loss" in names or "info/alpha" in names else "ppo"


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """A batch is the horizon times the environments."""
    steps, environments = values.get("n_steps"), values.get("n_envs")
    return {"batch_size": steps * environments} if steps and environments else {}
