"""open-instruct (Ai2): GRPO in grpo_fast. `global_step` counts episodes; the step of training is `training_step`."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "open-instruct"
WRITES_TEXT = True

MARKS = word_set("""
    objective/verifiable_reward objective/verifiable_correct_rate objective/kl0_avg objective/kl1_avg objective/kl2_avg
    objective/kl3_avg val/rho_weight val/rho_clipfrac val/sequence_lengths val/sequence_lengths_solved val/stop_rate
    val/format_scores debug/vllm_vs_local_logprob_diff_mean debug/vllm_local_reverse_kl real_batch_size_ratio
    unsolved_batch_size_ratio packed_ratio batch/filtered_prompts batch/percent_solved_mean model_step_mean
    num_steps_off_policy stale_results_dropped learner_tokens_per_second_step learner_mfu actor_mbu
    time/trainer_waiting_for_data other/real_batch_size_ratio
""")
CONFIG_MARKS = frozenset(
    {"num_samples_per_prompt_rollout", "num_unique_prompts_rollout", "clip_higher", "verification_reward"}
)

AXIS = ("training_step", "step", "_step")

PREFIXES = {"other/": ""}  # the console panel's category of names without a prefix

_RHO = "trainer over vLLM, after the clamp and masks"
_FINAL = "of the kept samples"

NAMES: dict[str, str | Name] = {
    "training_step": "progress.step",
    "episode": "progress.episodes",
    "global_step": Name("progress.episodes", note="counts episodes, not steps"),
    "epoch": "progress.epoch",
    # rewards
    "scores": Name("reward.mean", note="a right answer is worth verification_reward, 10 by default"),
    "objective/verifiable_reward": "reward.component.verifiable.mean",
    "objective/verifiable_correct_rate": "reward.accuracy",
    "objective/<dataset>_reward": "reward.component.<dataset>.mean",
    "objective/<dataset>_correct_rate": "reward.component.<dataset>.accuracy",
    "val/format_scores": "reward.component.format.mean",
    "batch/percent_solved_mean": "reward.accuracy@batch",
    "batch/filtered_prompts_pct": Name("reward.zero_std_frac", note="prompts filtered for equal rewards over prompts seen"),
    "real_batch_size_ratio": Name("reward.effective_frac", note="shrinks as groups become all right or all wrong"),
    "unsolved_batch_size_ratio": Name("reward.unsolved_frac", note=_FINAL),
    "batch/filtered_prompts": "filter.zero_std_dropped",
    "batch/filtered_prompts_zero": "filter.all_wrong_dropped",
    "batch/filtered_prompts_solved": "filter.all_right_dropped",
    "batch/filtered_prompts_nonzero": "filter.partial_dropped",
    "batch/total_prompts": "filter.prompts",
    "batch/no_resampled_prompts": "filter.no_resample",
    "val/advantages_<stat>": Name("advantage.<stat>", note="centred, not scaled, by default"),
    # divergences: the index is the trainer's own numbering, not the estimator's
    "objective/kl0_avg": "kl.ref.k1",
    "objective/kl1_avg": "kl.ref.k2",
    "objective/kl2_avg": "kl.ref.k3",
    "objective/kl3_avg": Name("kl.ref@ratio weighted", note="ratio times log ratio"),
    "objective/kl_avg": "kl.ref",
    "loss/kl_avg": Name("kl.loss", note="the chosen estimator times beta"),
    # the update
    "loss/policy_avg": Name("policy.loss", note="after the weights against vLLM"),
    "loss/total_avg": "loss.total",
    "policy/clipfrac_avg": Name("policy.clip_fraction", note="tokens of weight 0 count as not clipped"),
    "policy/entropy_avg": "policy.entropy",
    "val/ratio": "policy.ratio.mean",
    "val/ratio_var": Name("policy.ratio.var", note="of the samples' mean ratios"),
    "optim/grad_norm": Name("grad.norm", note="mean over updates and ranks"),
    "lr": "lr",
    # trainer against vLLM
    "val/rho_weight": Name("rollout_train.ratio.mean", note=_RHO),
    "val/rho_clipfrac": "rollout_train.ratio_cap_frac",
    "val/rho_drop_frac": "rollout_train.masked_frac",
    "val/rho_drop_low_frac": "rollout_train.masked_frac.low",
    "val/rho_drop_high_frac": "rollout_train.masked_frac.high",
    "debug/vllm_vs_local_logprob_diff_<stat>": "rollout_train.logp_absdiff.<stat>",
    "debug/vllm_local_reverse_kl": "rollout_train.kl.weighted",
    # lengths
    "val/sequence_lengths": "length.mean",
    "val/sequence_lengths_<stat>": "length.<stat>",
    "val/sequence_lengths_solved": Name("length.correct.mean", note="solved is the highest score; 0 where there is none"),
    "val/sequence_lengths_unsolved": Name("length.incorrect.mean", note="unsolved is a score of 0; 0 where there is none"),
    "val/stop_rate": "length.terminated_frac",
    "val/num_total_tokens": "tokens.total",
    "val/num_step_tokens": "tokens.step",
    "packed_ratio": "perf.packed_ratio",
    # tools and environments
    "tools/aggregate/avg_calls_per_rollout": "tool.call_freq",
    "tools/aggregate/failure_rate": "tool.failure_freq",
    "tools/aggregate/avg_runtime": "tool.runtime.mean",
    "tools/<tool>/avg_calls_per_rollout": "tool.call_freq@<tool>",
    "tools/<tool>/failure_rate": "tool.failure_freq@<tool>",
    "tools/<tool>/avg_runtime": "tool.runtime.mean@<tool>",
    "env/<env>/<name>": "custom.env.<name>@<env>",
    # freshness
    "model_step_<stat>": "policy_version.<stat>",
    "num_steps_off_policy": "staleness.mean",
    "stale_results_dropped": "staleness.dropped",
    # evaluation
    "eval/scores": "eval.reward",
    "eval/sequence_lengths": "eval.length.mean",
    "eval/sequence_lengths_<stat>": "eval.length.<stat>",
    "eval/stop_rate": "eval.length.terminated_frac",
    "eval/actor_tokens_per_second": "eval.throughput.gen_tok_s",
    "eval/pass_at_1": "eval.accuracy",
    "eval/pass_at_<int:k>": "eval.pass_at_k@<k>",
    "eval/pass_at_<int:k>_unbiased": "eval.pass_at_k@<k> unbiased",
    # time and throughput
    "time/total": "time.step",
    "time/training": "time.train",
    "time/saving": "time.save",
    "time/weight_sync": "time.update_weights",
    "time/trainer_waiting_for_data": "time.wait_batch",
    "time/generation_waiting_for_trainer": "time.wait_trainer",
    "time/group_generation_mean": "time.rollout",
    "time/group_generation_max": "time.rollout_max",
    "time/getting_response": "time.rollout",
    "time/health_check": "time.health",
    "time/<phase>": "time.<phase>",
    "learner_tokens_per_second_overall": "throughput.train_tok_s@overall",
    "learner_tokens_per_second_step": "throughput.train_tok_s",
    "val/actor_tokens_per_second": "throughput.gen_tok_s",
    "learner_mfu": Name("perf.mfu.train", 0.01, "logged in percent"),
    "actor_mfu": Name("perf.mfu.infer", 0.01, "logged in percent"),
    "actor_mbu": Name("perf.mbu.infer", 0.01, "logged in percent"),
}  # fmt: skip

NOT_CONVERTED = {
    **dict.fromkeys(
        ("val/rho_hist (histogram)", "val/rho_hist", "val/solve_rate_hist", "val/total_reward_groups"),
        "a histogram, not a curve",
    ),
    "sample_completions (table)": "a table of texts, read as samples",
    "sample_completions": "a table of texts, read as samples",
}

CONFIG = meanings("""
    learning_rate kl_estimator temperature seed | grad_clip: max_grad_norm | kl_coef: beta | clip_range: clip_lower |
    clip_range_high: clip_higher | group_size: num_samples_per_prompt_rollout |
    batch_size: num_unique_prompts_rollout | epochs_per_batch: num_epochs | minibatches: num_mini_batches |
    max_new_tokens: response_length | max_prompt_tokens: max_prompt_token_length | top_p: vllm_top_p |
    scale_rewards: advantage_normalization_type | loss_type: loss_denominator |
    mask_truncated: mask_truncated_completions | max_staleness: async_steps | is_correction: use_rho_correction |
    is_cap: truncated_importance_sampling_ratio_cap | dynamic_sampling: filter_zero_std_samples active_sampling |
    total_steps: total_episodes | model: model_name_or_path | dataset: dataset_mixer_list |
    eval_interval: local_eval_every | save_interval: save_freq
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        kl_coef=0.05 kl_estimator=2 kl_in_reward=False clip_range=0.2 clip_range_high=0.272 group_size=4 minibatches=1
        max_new_tokens=256 is_correction=True is_cap=2.0 max_staleness=8 scale_rewards=centered
    """)
}

LOG = {
    "policy.entropy": "set --record_entropy",
    "kl.ref": "set --load_ref_policy (and --beta 0 to log without a penalty)",
    **dict.fromkeys(("eval.reward", "eval.accuracy"), "set --dataset_mixer_eval_list and --local_eval_every"),
    "grad.norm": "logged as optim/grad_norm",
    "reward.group_std": "set --save_traces: group rewards are read from the rollouts",
}

_ESTIMATORS = ("k1", "k2", "k3", "ratio weighted")


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The trainer does GRPO."""
    return "grpo"


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The estimator is an index; a step's batch is prompts times completions; length is given in episodes."""
    prompts, group = values.get("batch_size"), values.get("group_size")
    refined: dict[str, Any] = {}
    if isinstance(index := values.get("kl_estimator"), int) and 0 <= index < len(_ESTIMATORS):
        refined["kl_estimator"] = _ESTIMATORS[index]
    if prompts and group:
        refined["batch_size"] = prompts * group
        if episodes := values.get("total_steps"):
            refined["total_steps"] = round(episodes / (prompts * group))
    return refined
