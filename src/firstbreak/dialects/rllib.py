"""RLlib: the new API stack (`env_runners/`, `learners/`), the old one (`info/learner/`) and the names of 2018 (`info/`).

Names of a learner are of its last minibatch. Ray's TensorBoard tags put `ray/tune/` before every name.
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "RLlib"

MARKS = word_set("""
    episode_return_mean episode_reward_mean episode_reward_min episode_len_mean episodes_this_iter timesteps_this_iter
    num_env_steps_sampled_lifetime training_iteration time_this_iter_s timesteps_total iterations_since_restore
    num_healthy_workers vf_explained_var vf_loss_unclipped curr_kl_coeff cur_kl_coeff mean_kl_loss grad_gnorm
    gradients_default_optimizer_global_norm diff_num_grad_updates_vs_sampler_policy hist_stats/episode_reward
    sampler_perf/mean_env_wait_ms info/num_steps_sampled
""")
CONFIG_MARKS = frozenset(
    {"num_env_runners", "num_workers", "num_sgd_iter", "rollout_fragment_length", "sample_batch_size"}
)

PREFIXES = {
    "ray/tune/": "",
    "evaluation/": "eval",
    **dict.fromkeys(("env_runners/", "sampler_results/", "learners/default_policy/"), ""),
    "learners/<module>/": "@<module>",
    "info/learner/default_policy/learner_stats/": "",
    "info/learner/<policy>/learner_stats/": "@<policy>",
    "info/learner/default_policy/": "",
    "info/learner/<policy>/": "@<policy>",
    "info/learner/": "",
}

AXIS = (
    "num_env_steps_sampled_lifetime",
    "timesteps_total",
    "info/num_env_steps_sampled",
    "info/num_steps_sampled",
    "training_iteration",
)
STEP = "iteration"  # Tune's TensorBoard files

_WINDOW = "over the last 100 episodes"
_SUM = "IMPALA sums it over the batch"

NAMES: dict[str, str | Name] = {
    # progress
    **dict.fromkeys(
        ("num_env_steps_sampled_lifetime", "timesteps_total", "info/num_env_steps_sampled", "info/num_steps_sampled"),
        "progress.env_steps",
    ),
    "num_env_steps_sampled": "progress.env_steps_iter",
    "timesteps_this_iter": "progress.env_steps_iter",
    **dict.fromkeys(
        ("learners/__all_modules__/num_env_steps_trained", "num_env_steps_trained"),
        Name("progress.env_steps_trained", note="minibatches and epochs summed"),
    ),
    "info/num_steps_trained": "progress.env_steps_trained",
    "training_iteration": "progress.iterations",
    "episodes_total": "progress.episodes",
    "num_episodes_lifetime": "progress.episodes",
    "episodes_this_iter": "progress.episodes_iter",
    "num_episodes": "progress.episodes_iter",
    "info/num_target_updates": "progress.target_updates",
    "info/num_steps_replayed": "progress.env_steps_replayed",
    "info/opt_samples": "samples.step",
    "last_target_update_ts": "progress.last_target_update",
    "num_<what>": "progress.<what>",
    "num_<what>/<who>": "progress.<what>@<who>",
    "num_<what>_throughput": "throughput.<what>",
    "num_<what>_throughput/<window>": "throughput.<what>@<window>",
    "num_trainable_parameters": "perf.trainable_parameters",
    "num_non_trainable_parameters": "perf.frozen_parameters",
    "module_train_batch_size_mean": "samples.step",
    # rewards and episodes
    "episode_return_<stat>": Name("reward.<stat>", note=_WINDOW),
    "episode_reward_<stat>": Name("reward.<stat>", note=_WINDOW),
    "episode_len_mean": Name("episode.length", note=_WINDOW),
    "episode_len_<stat>": Name("episode.length.<stat>", note=_WINDOW),
    "agent_episode_return_mean/<agent>": "reward.mean@<agent>",
    "agent_episode_returns_mean/<agent>": "reward.mean@<agent>",
    "module_episode_return_mean/<module>": "reward.mean@<module>",
    "module_episode_returns_mean/<module>": "reward.mean@<module>",
    "policy_reward_<stat>/<policy>": "reward.<stat>@<policy>",
    "custom_metrics/<name>": "custom.<name>",
    # the policy update
    "total_loss": "loss.total",
    "policy_loss": Name("policy.loss", note=_SUM),
    "mean_pi_loss": "policy.loss",
    "pi_loss": Name("policy.loss@sum", note="sum over the batch"),
    "actor_loss": "policy.loss",
    "mean_kl_loss": Name("kl.old", note="analytic; 0 where use_kl_loss is off"),
    "kl": Name("kl.old", note="analytic"),
    "curr_kl_coeff": "kl.coef",
    "cur_kl_coeff": "kl.coef",
    **dict.fromkeys(("default_optimizer_learning_rate", "cur_lr", "policy_learning_rate"), "lr"),
    "qf_learning_rate": "value.lr",
    "qf_twin_learning_rate": "value.lr@qf_twin",
    "alpha_learning_rate": "lr@alpha",
    "gradients_default_optimizer_global_norm": Name("grad.norm", note="before clipping"),
    "grad_gnorm": Name("grad.norm", note="clipped where grad_clip is set"),
    "var_gnorm": "policy.weight_norm",
    # the critic
    **dict.fromkeys(("vf_loss_unclipped", "mean_vf_loss", "qf_loss", "critic_loss"), "value.loss"),
    "vf_loss": Name("value.loss@clamped", note=f"each sample is clamped to vf_clip_param (10) in PPO; {_SUM}"),
    "qf_twin_loss": "value.loss@qf_twin",
    "vf_explained_var": Name("value.explained_variance", note="clamped at -1; values after the update"),
    "qf_<stat>": "value.<stat>",
    "<stat>_q": "value.<stat>",
    "td_error_mean": "td_error",
    "mean_td_error": "td_error",
    "replay_buffer/num_env_steps_stored": "replay.size",
    "replay_buffer/num_<what>": "replay.<what>",
    "replay_buffer/num_<what>/<who>": "replay.<what>@<who>",
    "replay_buffer/<what>": "replay.<what>",
    "replay_buffer/<what>/<who>": "replay.<what>@<who>",
    "num_env_steps_stored": "replay.size",
    # exploration
    "entropy": Name("policy.entropy", note=_SUM),
    "policy_entropy": Name("policy.entropy", note="sum over the batch"),
    "info/max_exploration": "epsilon.max",
    "info/min_exploration": "epsilon.min",
    "mean_entropy": "policy.entropy",
    "logps": Name("policy.entropy", -1.0, "minus the mean log-probability of resampled actions"),
    "curr_entropy_coeff": "entropy.coef",
    "entropy_coeff": "entropy.coef",
    "alpha_value": "alpha",
    "alpha_loss": "alpha.loss",
    # freshness
    "diff_num_grad_updates_vs_sampler_policy": Name("staleness.mean", note="in gradient updates; 0 for PPO"),
    "info/num_weight_syncs": "progress.weight_syncs",
    "info/learner_queue/size_<stat>": "staleness.buffer_size.<stat>",
    "env_runners/weights_seq_no": "policy_version.mean",
    "learners/default_policy/weights_seq_no": "policy_version.train",
    "weights_seq_no": "policy_version.train",
    # time and throughput
    "time_this_iter_s": "time.iteration",
    "time_total_s": "time.elapsed",
    "timestamp": "time.unix",
    "episode_duration_sec_mean": "time.episode",
    "num_env_steps_sampled_lifetime_throughput/throughput_since_last_reduce": "throughput.sps",
    "sample": "time.sample",
    "time_between_sampling": "time.between_sampling",
    "<what>_timer": "time.<what>",
    "<pipeline>_connector/connector_pipeline_timer": "time.connector@<pipeline>",
    "<pipeline>_connector/timers/connectors/<step>": "time.connector.<step>@<pipeline>",
    "<pipeline>_sum_episodes_length_<side>": "perf.episodes_length_<side>@<pipeline>",
    "timers/training_iteration": "time.step",
    "timers/env_runner_sampling_timer": "time.rollout",
    "timers/learner_update_timer": "time.train",
    "timers/synch_weights": "time.update_weights",
    "timers/evaluation_iteration": "time.eval",
    "timers/sample_time_ms": Name("time.rollout", 0.001),
    "timers/learn_time_ms": Name("time.train", 0.001),
    "timers/update_time_ms": Name("time.update_weights", 0.001),
    "timers/<phase>_time_ms": Name("time.<phase>", 0.001),
    "timers/<phase>_throughput": "throughput.<phase>",
    "timers/<phase>": "time.<phase>",
    "info/sample_time_ms": Name("time.rollout", 0.001),
    "info/grad_time_ms": Name("time.train", 0.001),
    "info/update_time_ms": Name("time.update_weights", 0.001),
    "info/timing_breakdown/<phase>_time_ms": Name("time.<phase>", 0.001),
    "info/<phase>_time_ms": Name("time.<phase>", 0.001),
    "info/<what>_throughput": "throughput.<what>",
    "sampler_perf/mean_env_wait_ms": Name("time.env", 0.001),
    "sampler_perf/mean_inference_ms": Name("time.inference", 0.001),
    "sampler_perf/mean_<phase>_ms": Name("time.<phase>", 0.001),
    "num_healthy_workers": "perf.healthy_workers",
    "fault_tolerance/num_<what>": "perf.<what>",
    "env_runner_group/actor_manager_num_<what>": "perf.<what>",
    "perf/cpu_util_percent": Name("perf.cpu_util", 0.01),
    "perf/ram_util_percent": Name("perf.ram_util", 0.01),
}

NOT_CONVERTED = {
    "pid": "process number",
    **{
        f"hist_stats/{what}": "a list in every row; its mean is logged beside it"
        for what in ("episode_reward", "episode_lengths")
    },
    "done": "whether the run has ended",
    "trial_id": "a name",
    "experiment_tag": "a name",
    "num_metric_batches_dropped": "batches left out of the row's metrics",
    "time_since_restore": "starts again at every restore; time_total_s does not",
    "timesteps_since_restore": "starts again at every restore",
    "iterations_since_restore": "starts again at every restore",
}

CONFIG = meanings("""
    grad_clip gamma tau target_entropy exploration_fraction seed | learning_rate: lr actor_lr |
    value_learning_rate: critic_lr | batch_size: train_batch_size_per_learner train_batch_size |
    minibatch_size: minibatch_size sgd_minibatch_size | epochs_per_batch: num_epochs num_sgd_iter |
    clip_range: clip_param | clip_range_value: vf_clip_param | target_kl: kl_target | entropy_coef: entropy_coeff |
    value_coef: vf_loss_coeff | gae_lambda: lambda_ lambda | reward_clip: clip_rewards |
    n_steps: rollout_fragment_length sample_batch_size | n_step_returns: n_step |
    buffer_size: replay_buffer_config.capacity buffer_size |
    learning_starts: num_steps_sampled_before_learning_starts learning_starts |
    target_update_interval: target_network_update_freq | exploration_final: exploration_final_eps | env_id: env |
    eval_interval: evaluation_interval
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": {"gamma": 0.99},
    "ppo": options("""
        learning_rate=5e-5 batch_size=4000 minibatch_size=128 epochs_per_batch=30 clip_range=0.3 clip_range_value=10.0
        entropy_coef=0.0 gae_lambda=1.0 value_coef=1.0
    """),
}

LOG = {
    "eval.reward": "config.evaluation(evaluation_interval=1, evaluation_duration=10)",
    "grad.norm": "config.training(grad_clip=..., grad_clip_by='global_norm') or config.reporting(log_gradients=True)",
    "kl.old": "logged by PPO as mean_kl_loss with use_kl_loss=True",
    "reward.mean": "logged as env_runners/episode_return_mean; absent until an episode ends",
    "success_rate": "log it in a callback: metrics_logger.log_value('success', ...)",
    "replay.size": "logged as replay_buffer/num_env_steps_stored",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs or has as an option; A3C, A2C and IMPALA share theirs, and switch V-trace."""
    last = {name.rpartition("/")[2] for name in names}
    if "policy_entropy" in last or config.get("vtrace") is False:
        return "a3c" if config.get("sample_async") else "a2c"
    if last & {"curr_kl_coeff", "cur_kl_coeff"} or {"clip_param", "num_sgd_iter"} & config.keys():
        return "appo" if config.get("vtrace") else "ppo"
    if config.get("vtrace"):
        return "impala"
    if last & {"alpha_value", "target_entropy"} or "target_entropy" in config:
        return "sac"
    if {"num_target_updates", "num_weight_syncs"} <= last:
        return "apex"  # actors that run ahead of the learner are what it adds to DQN
    if last & {"qf_loss", "mean_q", "qf_mean"} or config.keys() & {"double_q", "dueling", "prioritized_replay"}:
        return "dqn"
    return "sac" if "info/num_target_updates" in names and "initial_alpha" in config else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """Environments side by side: workers times environments of each; an old config says `clip_rewards: true`."""
    workers = config.get("num_env_runners", config.get("num_workers"))
    each = config.get("num_envs_per_env_runner", config.get("num_envs_per_worker", 1))
    refined: dict[str, Any] = {}
    if isinstance(workers, int | float):
        refined["n_envs"] = max(1, int(workers)) * int(each or 1)
    if isinstance(clip := values.get("reward_clip"), bool):
        refined["reward_clip"] = 1.0 if clip else None
    if rates := _rates(config.get("lr_schedule")):
        refined |= {"learning_rate": max(rates), "lr_schedule": "linear" if len(set(rates)) > 1 else "constant"}
    if isinstance(bonus := values.get("entropy_coef"), int | float):
        refined["entropy_coef"] = abs(bonus)
    return refined


def _rates(schedule: Any) -> list[float]:
    """The learning rates of `[[step, rate], ...]`, between which RLlib draws straight lines."""
    points = [p for p in schedule if isinstance(p, list) and len(p) == 2] if isinstance(schedule, list) else []
    return [float(rate) for _, rate in points if isinstance(rate, int | float)]
