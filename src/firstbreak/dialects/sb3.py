"""Stable-Baselines3 with its contrib algorithms and rl-zoo: logger, Monitor files, evaluations.npz, args.yml.

A row of the logger carries the `train/` values of the update before it, because it is written before the update. The
names of the Monitor's columns (r, l, t) and of the arrays of evaluations.npz are those of readers/monitor.py and npz.py.
Source: stable_baselines3/common/on_policy_algorithm.py, off_policy_algorithm.py, callbacks.py; ppo/ppo.py; sac/sac.py
"""

import re
from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name, Older
from firstbreak.dialects._table import meanings, options, word_set, words

TITLE = "Stable-Baselines3"

MARKS = word_set("""
    rollout/ep_rew_mean rollout/ep_len_mean rollout/success_rate rollout/exploration_rate rollout/return_std time/fps
    time/time_elapsed time/total_timesteps time/iterations time/episodes train/n_updates train/clip_fraction
    train/entropy_loss train/policy_gradient_loss train/explained_variance train/ent_coef train/ent_coef_loss
    train/kl_divergence_loss train/policy_objective train/is_line_search_success eval/mean_reward eval/mean_ep_length
    results/<stat> ep_lengths/<stat>
""")
STRONG = (frozenset({"r", "l", "t"}), frozenset({"results/mean", "results/std", "results/count"}))
CONFIG_MARKS = frozenset({"n_timesteps", "policy_kwargs", "vec_env", "n_startup_trials"})

AXIS = ("time/total_timesteps", "total_timesteps", "global_step")
STEP = "env_steps"

_EPISODES = "mean over the last 100 episodes"

NAMES: dict[str, str | Name] = {
    # training episodes
    "rollout/ep_rew_mean": Name("reward.mean", note=f"return, {_EPISODES}"),
    "rollout/returns_<stat>": Name("returns.<stat>", note="what the rollout buffer calls returns"),
    "rollout/ep_len_mean": Name("episode.length", note=_EPISODES),
    "rollout/success_rate": Name("success_rate", note=_EPISODES),
    "rollout/exploration_rate": "epsilon",
    "rollout/return_std": Name("reward.std", note="spread over the candidates of a random search"),
    "r": "reward.episode",
    "l": Name("episode.length", note="single episodes"),
    "t": Name("time.elapsed", note="at the end of each episode"),
    "is_success": Name("success_rate", note="single episodes"),
    # evaluation episodes
    "eval/mean_reward": "eval.reward",
    "eval/mean_ep_length": "eval.episode_length",
    "Episode length": "eval.episode_length",
    "eval/success_rate": "eval.success_rate",
    "results": "eval.reward",
    "results/<stat>": Name("eval.reward.<stat>", note="over the episodes of one evaluation"),
    "ep_lengths": "eval.episode_length",
    "ep_lengths/<stat>": Name("eval.episode_length.<stat>", note="over the episodes of one evaluation"),
    "successes": "eval.success_rate",
    "successes/<stat>": Name("eval.success_rate.<stat>", note="over the episodes of one evaluation"),
    # on-policy updates
    "train/approx_kl": Name("kl.old.k3", note="last epoch only, the minibatch that stopped it included"),
    "train/kl_divergence_loss": Name("kl.old", note="analytic, at the accepted step; 0 where the line search failed"),
    "train/clip_fraction": Name("policy.clip_fraction", note="both signs of the advantage: more than the clip cuts"),
    "train/clip_range": "policy.clip_range",
    "train/clip_range_vf": "value.clip_range",
    "train/entropy_loss": Name("policy.entropy", -1.0, "logged as minus the entropy, without its coefficient"),
    "train/policy_gradient_loss": Name("policy.loss", note="advantages normalised: near 0 by construction"),
    "train/policy_loss": "policy.loss",
    "train/policy_objective": "policy.objective",
    "train/is_line_search_success": "policy.line_search_success",
    "train/value_loss": Name("value.loss", note="squared error without a factor 0.5"),
    "train/loss": Name("loss.total", note="last minibatch only"),
    "train/explained_variance": Name("value.explained_variance", note="with the values of the rollout"),
    "train/std": "action.std",
    # off-policy updates
    "train/ent_coef": "alpha",
    "train/ent_coef_loss": "alpha.loss",
    "train/actor_loss": Name("policy.loss", note="minus a Q value: follows the scale of Q, lower is not better"),
    "train/critic_loss": Name("value.loss", note="0.5 times the sum over critics in SAC, the sum in TD3"),
    # random search
    "train/delta_std": "policy.delta_std",
    "train/step_size": "policy.step_size",
    # progress
    "train/learning_rate": "lr",
    "train/n_updates": Name("progress.updates", note="epochs in PPO, rollouts in A2C, gradient steps off-policy"),
    "train/iterations": "progress.updates",
    "time/fps": Name("throughput.fps", note="since the start: a slowdown shows late"),
    "time/time_elapsed": "time.elapsed",
    **dict.fromkeys(("time/total_timesteps", "timesteps", "total_timesteps"), "progress.env_steps"),
    "time/iterations": "progress.iterations",
    "time/episodes": "progress.episodes",
}

CONFIG = meanings("""
    learning_rate n_envs n_steps gamma gae_lambda clip_range target_kl normalize_advantage target_entropy
        exploration_fraction buffer_size learning_starts train_freq gradient_steps target_update_interval tau
        policy_delay seed log_interval | total_steps: n_timesteps total_timesteps | minibatch_size: batch_size |
    epochs_per_batch: n_epochs | clip_range_value: clip_range_vf | entropy_coef: ent_coef | value_coef: vf_coef |
    grad_clip: max_grad_norm | normalize_observation: norm_obs | normalize_reward: norm_reward |
    reward_clip: clip_reward | exploration_initial: exploration_initial_eps |
    exploration_final: exploration_final_eps | action_noise: noise_std | env_id: env_id env |
    eval_interval: eval_freq | save_interval: save_freq
""")

_OFF_POLICY = {"buffer_size": 1_000_000, "learning_starts": 100, "gamma": 0.99, "gradient_steps": 1}
_ACTOR_CRITIC = _OFF_POLICY | {"minibatch_size": 256, "tau": 0.005, "train_freq": 1}
_Q_NETWORK = _OFF_POLICY | {
    "minibatch_size": 32,
    "tau": 1.0,
    "train_freq": 4,
    "target_update_interval": 10_000,
    "exploration_initial": 1.0,
}
_ON_POLICY = {"gamma": 0.99, "value_coef": 0.5, "grad_clip": 0.5, "entropy_coef": 0.0}

DEFAULTS: dict[str, dict[str, Any]] = {
    "ppo": _ON_POLICY
    | options("""
        learning_rate=3e-4 n_steps=2048 minibatch_size=64 epochs_per_batch=10 gae_lambda=0.95 clip_range=0.2
        normalize_advantage=True
    """),
    "a2c": _ON_POLICY
    | options("""
        learning_rate=7e-4 n_steps=5 epochs_per_batch=1 minibatches=1 gae_lambda=1.0 normalize_advantage=False
    """),
    "trpo": {"learning_rate": 1e-3, "n_steps": 2048, "minibatch_size": 128, "gae_lambda": 0.95, "target_kl": 0.01},
    "dqn": _Q_NETWORK
    | {"learning_rate": 1e-4, "exploration_fraction": 0.1, "exploration_final": 0.05, "grad_clip": 10.0},
    "qrdqn": _Q_NETWORK | {"learning_rate": 5e-5, "exploration_fraction": 0.005, "exploration_final": 0.01},
    "sac": _ACTOR_CRITIC | {"learning_rate": 3e-4},
    "tqc": _ACTOR_CRITIC | {"learning_rate": 3e-4},
    "td3": _ACTOR_CRITIC | {"learning_rate": 1e-3, "policy_delay": 2},
    "ddpg": _ACTOR_CRITIC | {"learning_rate": 1e-3, "policy_delay": 1},
}

_BEFORE_2_3 = {"minibatch_size": 100, "train_freq": None, "gradient_steps": None}  # an update for each episode
OLDER = (  # the change log of 2.3.0; only what 1.3.0 renamed tells a version
    Older(
        "1.2",
        {"dqn": {"learning_starts": 50_000}, "td3": _BEFORE_2_3, "ddpg": _BEFORE_2_3},
        names=("time/total timesteps",),
    ),
)

_RECORDER = "add firstbreak.live.guard.adapters.sb3_loop.recorder() to the callbacks of learn()"
LOG = {
    **dict.fromkeys(
        words("""
        env.observation_constant env.observation_size env.observation_offset env.action_use env.action_shown_any
        env.episodes_ended env.episode_age env.start_spread env.action_shown env.action_shown_at_once
        env.action_effect env.action_effect_moved env.limits_early advantage.error advantage.turned
        """),
        _RECORDER,
    ),
    "reward.mean": "wrap the environment in Monitor (make_vec_env does): rollout/ep_rew_mean comes from it",
    "reward.episode": "give Monitor a filename, or make_vec_env a monitor_dir",
    "eval.reward": "pass callback=EvalCallback(eval_env, eval_freq=..., log_path=...) to learn()",
    "eval.success_rate": "return info['is_success'] from the evaluation environment and use EvalCallback",
    "success_rate": "return info['is_success'] from the environment at the end of an episode",
    "episode.length": "wrap the environment in Monitor",
    "grad.norm": "actor_critic: log what clip_grad_norm_ returns in train() with self.logger.record('train/grad_norm', ...)",
    "kl.old": "logged by PPO as train/approx_kl; call model.set_logger(configure(folder, ['csv', 'tensorboard']))",
    "policy.entropy": "actor_critic: logged as train/entropy_loss",
    "policy.clip_fraction": "logged by PPO as train/clip_fraction",
    "value.explained_variance": "logged by PPO and A2C as train/explained_variance",
    "value.loss": "actor_critic: logged as train/value_loss; call model.set_logger(configure(folder, ['csv']))",
    "value.mean": "log the mean of replayed Q values in train() with self.logger.record('train/q_values', ...)",
    "advantage.std": "log rollout_buffer.advantages.std() in a callback's on_rollout_end",
    "epsilon": "value_based: logged by DQN as rollout/exploration_rate",
}
#: what only these algorithms log
ALGORITHMS = {
    "kl.old": ("ppo", "trpo"),
    "policy.clip_fraction": ("ppo",),
    "value.explained_variance": ("ppo", "a2c", "trpo"),
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """`train/loss` is the total loss of PPO, and the loss of the critic where there is no policy beside it."""
    if "train/loss" in names and names.isdisjoint(("train/policy_gradient_loss", "train/value_loss")):
        return {"train/loss": Name("value.loss", note="Huber loss of the temporal difference")}
    return {}


_SPOKEN = {"ppo2": "ppo", "ppo_lstm": "ppo", "ppo_mask": "ppo", "recurrent_ppo": "ppo", "maskable_ppo": "ppo"}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """As rl-zoo records it; else from what only one method logs."""
    if isinstance(recorded := config.get("algo"), str):
        return _SPOKEN.get(recorded.lower(), recorded.lower())
    tells = (
        ("train/kl_divergence_loss", "trpo"),
        ("train/clip_fraction", "ppo"),
        ("train/ent_coef", "sac"),
        ("rollout/exploration_rate", "dqn"),
        ("train/delta_std", "ars"),
        ("train/policy_loss", "a2c"),
        ("train/actor_loss", "td3"),
    )
    return next((method for name, method in tells if name in names), None)


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """What rl-zoo writes in shorthand, and what an option means to one algorithm only.

    -1 says "not set"; `normalize` is about observations and rewards. `n_steps` is the length of a rollout on-policy and
    of a bootstrapped return off-policy; `ent_coef` is the weight of a bonus in PPO and a temperature in SAC.
    """
    method = algorithm(names, config) or ""
    refined: dict[str, Any] = {name: None for name in _LENGTHS if values.get(name) == -1}
    if (normalize := config.get("normalize")) is not None:
        refined |= {f"normalize_{what}": _normalized(normalize, short) for what, short in _NORMALIZED.items()}
    if method in ("ppo", "a2c", "trpo"):
        steps = values.get("n_steps", DEFAULTS[method]["n_steps"])
        envs = values.get("n_envs", 1 if "n_timesteps" in config else None)  # rl-zoo leaves a single one unsaid
        if isinstance(steps, int | float) and isinstance(envs, int | float):
            refined |= {"n_envs": envs, "batch_size": int(steps * envs)}
    elif method:
        refined |= {"n_step_returns": values.get("n_steps"), "n_steps": None, "entropy_coef": None}
    return refined


_LENGTHS = ("total_steps", "log_interval", "eval_interval", "save_interval")
_NORMALIZED = {"observation": "obs", "reward": "reward"}


def _normalized(normalize: Any, what: str) -> bool:
    """Of `True`, or of `dict(norm_obs=True, norm_reward=False)` as text."""
    return bool(normalize) and not re.search(rf"norm_{what}\W+False", str(normalize))
