"""NeMo-RL (NVIDIA). Names of the loss are summed over the global batches of a step: with K updates per step, K times the mean."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "NeMo-RL"
WRITES_TEXT = True

MARKS = word_set("""
    train/token_mult_prob_error | train/gen_kl_error | train/policy_kl_error | train/js_divergence_error |
    train/sampling_importance_ratio | train/probs_ratio | train/probs_ratio_clamped | train/approx_entropy |
    train/baseline_reward/pct_0 | train/mean_gen_tokens_per_sample | train/natural_termination_rate |
    train/global_valid_toks | train/max_seq_mult_prob_error | validation/accuracy | timing/train/total_step_time |
    timing/train/policy_training | timing/train/exposed_generation | Generation KL Error | Mean Generation Length |
    Avg Reward
""")
CONFIG_MARKS = frozenset(
    {"loss_fn.reference_policy_kl_penalty", "grpo.num_generations_per_prompt", "policy.train_global_batch_size"}
)

PREFIXES = {"train/": ""}

AXIS = ("step", "train/step", "_step")

_SUMMED = "summed over the global batches of a step"

NAMES: dict[str, str | Name] = {
    "loss": Name("loss.total", note=_SUMMED),
    "Loss": Name("loss.total", note=_SUMMED),
    "grad_norm": Name("grad.norm", note="last global batch, before clipping"),
    "lr": "lr",
    "wd": "weight_decay",
    "positive_nll_loss": "loss.nll",
    # rewards
    "reward": Name("reward.mean", note="all rollouts, also those that dynamic sampling rejects"),
    "Avg Reward": "reward.mean",
    "filtered_reward": "reward.filtered.mean",
    "<stat>_total_reward": "reward.<stat>",
    "baseline_reward/pct_0": Name("reward.baseline_zero_frac", 0.01, "leave-one-out baseline of each sample"),
    "baseline_reward/pct_1": Name("reward.baseline_one_frac", 0.01, "leave-one-out baseline of each sample"),
    "baseline_reward/pct_mixed": Name("reward.baseline_mixed_frac", note="leave-one-out baseline of each sample"),
    "advantages/<stat>": "advantage.<stat>",
    # the update
    "probs_ratio": Name("policy.ratio.mean", note=f"{_SUMMED}; the mean log-probability with disable_ppo_ratio"),
    "probs_ratio_<stat>": Name("policy.ratio.<stat>", note="-1 where there are no tokens"),
    "probs_ratio_clamped": Name("policy.ratio.clamped.mean", note=_SUMMED),
    "probs_ratio_clamped_<stat>": "policy.ratio.clamped.<stat>",
    "kl_penalty": Name("kl.ref", note=f"k3 by default, coefficient divided out; {_SUMMED}; 0 without a penalty"),
    "approx_entropy": "policy.entropy_proxy",
    # trainer against generation
    "token_mult_prob_error": "rollout_train.mult_prob_error",
    "gen_kl_error": "rollout_train.kl.k3",
    "Generation KL Error": "rollout_train.kl.k3",
    "policy_kl_error": Name("rollout_train.kl.reverse", note="k3 on generated samples: explodes on single rare tokens"),
    "js_divergence_error": "rollout_train.js",
    "sampling_importance_ratio": "rollout_train.ratio.mean",
    "is_oob_ratio": "rollout_train.ratio_cap_frac",
    "<stat>_seq_mult_prob_error": "rollout_train.seq_mult_prob_error.<stat>",
    "<stat>_seq_mult_prob_error_after_mask": "rollout_train.seq_mult_prob_error.<stat>@kept",
    "num_masked_seqs": "rollout_train.masked_seqs",
    "masked_correct_pct": "rollout_train.masked_correct",
    # samples
    "num_valid_samples": "samples.step",
    "global_valid_seqs": "samples.valid",
    "global_valid_toks": "tokens.train",
    "total_num_tokens": "tokens.step",
    "mean_prompt_length": "length.prompt.mean",
    "<stat>_gen_tokens_per_sample": "length.<stat>",
    "Mean Generation Length": "length.mean",
    "<stat>_total_tokens_per_sample": "length.total.<stat>",
    "<stat>_env_tokens_per_sample": "length.env.<stat>",
    "natural_termination_rate": "length.terminated_frac",
    "truncation_rate": "length.clipped_ratio",
    "max_turns_reached_rate": "length.max_turns_frac",
    "total_turns": "turns.total",
    "<stat>_turns_per_sample": "turns.<stat>",
    "invalid_tool_call_rate": "tool.invalid_frac",
    "num_invalid_tool_calls": "tool.invalid_count",
    "malformed_thinking_rate": "tool.malformed_think_frac",
    "num_malformed_thinking": "tool.malformed_think_count",
    "num_assistant_messages": "tool.messages",
    "num_mask_sample_filtered": "filter.masked",
    "dynamic_sampling_num_gen_batches": "filter.gen_batches",
    "dynamic_sampling_num_discarded_valid_samples": "filter.surplus_dropped",
    # freshness
    "buffer_size": "staleness.buffer_size",
    "avg_trajectory_age": "staleness.mean",
    # the critic
    "critic/loss": "value.loss",
    "critic/grad_norm": "value.grad_norm",
    "critic/explained_var": "value.explained_variance",
    # mixtures of experts
    "moe/<path:what>": "moe.<what>",
    "mtp/<path:what>": "mtp.<what>",
    # validation
    "validation/accuracy": Name("eval.accuracy", note="mean reward: an accuracy only for rewards of 0 and 1"),
    "Accuracy": "eval.accuracy",
    "validation/avg_length": "eval.length.mean",
    "validation/pass_k": "eval.pass_at_k",
    # time
    "timing/train/total_step_time": "time.step",
    "Total step time": "time.step",
    "timing/train/generation": "time.rollout",
    "timing/train/exposed_generation": "time.rollout_exposed",
    "timing/train/policy_training": "time.train",
    "policy_training": "time.train",
    "timing/train/policy_and_reference_logprobs": "time.logprobs",
    "timing/train/weight_sync": "time.update_weights",
    "timing/train/prepare_for_generation/total": "time.update_weights@prepare",
    "timing/train/prepare_for_generation/<phase>": "time.prepare_for_generation.<phase>",
    "timing/train/reward_calculation": "time.reward",
    "timing/train/advantage_calculation": "time.advantage",
    "timing/train/data_processing": "time.data",
    "timing/train/checkpointing": "time.save",
    "timing/train/training_prep": "time.prep@training",
    "timing/train/logprob_inference_prep": "time.prep@logprobs",
    "timing/train/valid_tokens_per_sec_per_gpu": "throughput.tok_s_gpu",
    "timing/train/<phase>": "time.<phase>",
    "timing/validation/total_validation_time": "time.eval",
    "timing/validation/<phase>": "eval.time.<phase>",
    "performance/<what>": "throughput.<what>",
    "refit/<what>": "time.update_weights.<what>",
    "ray/node.<i>.gpu.<j>.util": "gpu.util@node <i> gpu <j>",
    "ray/node.<i>.gpu.<j>.mem_gb": "memory.gpu@node <i> gpu <j>",
    "ray/node.<i>.mem_gb": "memory.cpu@node <i>",
}

CONFIG = meanings("""
    learning_rate: policy.optimizer.kwargs.lr | weight_decay: policy.optimizer.kwargs.weight_decay |
    grad_clip: policy.max_grad_norm | kl_coef: loss_fn.reference_policy_kl_penalty |
    kl_estimator: loss_fn.reference_policy_kl_type | clip_range: loss_fn.ratio_clip_min |
    clip_range_high: loss_fn.ratio_clip_max | dual_clip: loss_fn.ratio_clip_c |
    is_correction: loss_fn.use_importance_sampling_correction | is_cap: loss_fn.truncated_importance_sampling_ratio |
    loss_type: loss_fn.token_level_loss | group_size: grpo.num_generations_per_prompt |
    batch_size: grpo.num_prompts_per_step | minibatch_size: policy.train_global_batch_size |
    total_steps: grpo.max_num_steps | max_turns: grpo.max_rollout_turns | scale_rewards: grpo.normalize_rewards |
    mask_truncated: grpo.overlong_filtering | dynamic_sampling: grpo.use_dynamic_sampling |
    max_staleness: grpo.async_grpo.max_trajectory_age_steps | eval_interval: grpo.val_period |
    eval_on_start: grpo.val_at_start | seed: grpo.seed | max_total_tokens: policy.max_total_sequence_length |
    max_new_tokens: policy.generation.max_new_tokens | temperature: policy.generation.temperature |
    top_p: policy.generation.top_p | top_k: policy.generation.top_k | model: policy.model_name |
    precision: policy.precision | dataset: data.dataset_name | save_interval: checkpointing.save_period
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        grad_clip=1.0 kl_coef=0.01 kl_estimator=k3 kl_in_reward=False clip_range=0.2 clip_range_high=0.2 group_size=16
        temperature=1.0 mask_truncated=False dynamic_sampling=False is_correction=False
    """)
}

LOG = {
    "policy.clip_fraction": "compare train/probs_ratio with train/probs_ratio_clamped",
    "eval.accuracy": "set grpo.val_period > 0",
    "eval.reward": "set grpo.val_period > 0",
    "kl.ref": "set loss_fn.reference_policy_kl_penalty > 0",
    "reward.zero_std_frac": "read from train/baseline_reward/pct_0 and pct_1, or from train_data_step*.jsonl",
    "reward.component.<func>.mean": "return the parts as environment metrics",
    "rollout_train.kl": "logged as train/gen_kl_error",
    "staleness.mean": "logged as train/avg_trajectory_age with grpo.async_grpo.enabled",
    "memory.gpu": "set logger.monitor_gpus=true",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """With a critic PPO; otherwise GRPO."""
    if any(name.startswith("train/critic/") for name in names):
        return "ppo"
    if any(str(key).startswith("dpo.") for key in config):
        return "dpo"
    return "grpo" if "train/token_mult_prob_error" in names or "train/probs_ratio" in names else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """A step's batch is prompts times completions."""
    prompts, group = values.get("batch_size"), values.get("group_size")
    refined: dict[str, Any] = {"batch_size": prompts * group} if prompts and group else {}
    if isinstance(token_level := values.get("loss_type"), bool):
        refined["loss_type"] = "token-mean" if token_level else "seq-mean"
    return refined
