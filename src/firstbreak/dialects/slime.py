"""slime (THUDM): three step axes (train/step, rollout/step, eval/step). Metrics of a rollout are means over samples."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "slime"
WRITES_TEXT = True

MARKS = word_set("""
    rollout/raw_reward rollout/response_lengths rollout/response_len/mean rollout/log_probs rollout/ref_log_probs
    rollout/zero_std/count_<reward> rollout/repetition_frac rollout/truncated_ratio
    train/train_rollout_logprob_abs_diff train/pg_clipfrac train/ois train/tis train/lr-pg_<int:i> train/critic-<name>
    passrate/pass@<int:k> multi_turn/<path:name> perf/actor_train_tflops perf/train_wait_time
    perf/tokens_per_gpu_per_sec perf/wait_time_ratio
""")
CONFIG_MARKS = frozenset({"n_samples_per_prompt", "num_steps_per_rollout", "rollout_max_response_len", "tis_clip"})

AXIS = ("rollout/step", "train/step", "eval/step", "step", "_step")

_SAMPLES = "token mean of each sample, then mean over samples"

NAMES: dict[str, str | Name] = {
    "train/step": "progress.step",
    "rollout/step": "progress.rollout_step",
    # rewards
    "rollout/raw_reward": "reward.mean",
    "rollout/rewards": Name("reward.normalized.mean", note="near 0 by construction with a group baseline"),
    "rollout/zero_std/count_<path:reward>": Name(
        "reward.zero_std_count.<reward>", note="prompts per reward; absent is 0"
    ),
    "rollout/error_cat/<name>": "reward.category.<name>",
    "passrate/pass@<int:k>": "reward.pass_at_k@<k>",
    "rollout/advantages": Name("advantage.mean", note=_SAMPLES),
    "rollout/returns": Name("returns.mean", note=_SAMPLES),
    "rollout/values": Name("value.mean", note=_SAMPLES),
    # lengths
    "rollout/response_len/<stat>": Name("length.<stat>", note="unmasked tokens"),
    "rollout/response_lengths": "length.mean",
    "rollout/total_lengths": "length.total.mean",
    "rollout/truncated": "length.clipped_ratio",
    "rollout/truncated_ratio": "length.clipped_ratio",
    "rollout/correct_length/<quarter>": "length.correct.share@<quarter>",
    "rollout/repetition_frac": Name("text.repetition_frac", note="only answers above 10,000 characters are looked at"),
    "multi_turn/raw_response_length/response_length_<stat>": "length.with_obs.<stat>",
    "multi_turn/wo_obs_response_length/response_length_<stat>": "length.assistant.<stat>",
    "multi_turn/raw_response_length/response_length_clip_ratio": "length.clipped_ratio@with observations",
    "multi_turn/multi_turn_metric/round_number_<stat>": "turns.<stat>",
    "rollout/dynamic_filter/drop_<reason>": "filter.dropped@<reason>",
    "rollout/top_p_kept_vocab_per_token": "sampling.kept_vocab",
    # log-probabilities
    "rollout/log_probs": Name("policy.logp.old", note=_SAMPLES),
    "rollout/ref_log_probs": Name("policy.logp.ref", note=_SAMPLES),
    "rollout/rollout_log_probs": Name("policy.logp.rollout", note=_SAMPLES),
    "rollout/teacher_log_probs": Name("policy.logp.teacher", note=_SAMPLES),
    "rollout/entropy": "policy.entropy",
    "rollout/correct_entropy": "policy.entropy_proxy.correct",
    # the update
    "train/loss": "loss.total",
    "train/pg_loss": "policy.loss",
    "train/entropy_loss": Name("policy.entropy", note="plus the entropy, in spite of the name"),
    "train/pg_clipfrac": "policy.clip_fraction",
    "train/ppo_kl": Name("kl.old.k1", note="against the inference engine with --use-rollout-logprobs"),
    "train/kl_loss": Name("kl.ref", note="k1 by default: may be negative; without its coefficient"),
    "train/ois": "policy.ratio.mean",
    "train/opsm_clipfrac": "policy.opsm_frac",
    "train/opd_reverse_kl": "distill.reverse_kl",
    "train/grad_norm": "grad.norm",
    "train/lr-pg_0": "lr",
    "train/lr-pg_<int:i>": "lr@group <i>",
    "train/global_batch_size": "samples.step",
    "train/mtp_loss": "loss.mtp",
    "train/mtp_<int:i>_loss": "loss.mtp@<i>",
    # the critic
    "train/value_loss": "value.loss",
    "train/value_clipfrac": "value.clip_fraction",
    "train/critic-value_loss": "value.loss",
    "train/critic-value_clipfrac": "value.clip_fraction",
    "train/critic-grad_norm": "value.grad_norm",
    "train/critic-lr-pg_0": "value.lr",
    "train/critic-lr-pg_<int:i>": "value.lr@group <i>",
    "train/critic-global_batch_size": "samples.step@critic",
    "train/critic-mtp_loss": "loss.mtp@critic",
    "train/critic-mtp_<int:i>_loss": "loss.mtp@critic <i>",
    "train/critic-loss": "value.loss@total",
    # trainer against inference engine
    "train/train_rollout_logprob_abs_diff": "rollout_train.logp_absdiff.mean",
    "train/tis": Name("rollout_train.ratio.mean", note="before clipping"),
    "train/tis_clipfrac": "rollout_train.ratio_cap_frac",
    "train/tis_abs": "rollout_train.ratio.absdev",
    # evaluation
    "eval/<source>": "eval.reward@<source>",
    "eval/<source>-pass@<int:k>": "eval.pass_at_k@<source> pass@<k>",
    "eval/<source>-truncated_ratio": "eval.length.clipped_ratio@<source>",
    "eval/<source>/truncated_ratio": "eval.length.clipped_ratio@<source>",
    "eval/<source>/response_len/<stat>": "eval.length.<stat>@<source>",
    "eval/<source>/repetition_frac": "eval.text.repetition_frac@<source>",
    "eval/<source>/zero_std/count_<path:reward>": "eval.reward.zero_std_count.<reward>@<source>",
    "eval/step": "eval.progress.step",
    # time and throughput
    "perf/step_time": "time.step",
    "perf/rollout_time": "time.rollout",
    "perf/actor_train_time": "time.train",
    "perf/train_time": "time.train_total",
    "perf/train_wait_time": "time.wait_batch",
    "perf/wait_time_ratio": "time.wait_frac",
    "perf/log_probs_time": "time.old_logp",
    "perf/ref_log_probs_time": "time.ref_logp",
    "perf/data_preprocess_time": "time.data",
    "perf/update_weights_time": "time.update_weights",
    "perf/actor_train_tflops": "throughput.train_tflops",
    "perf/log_probs_tflops": "throughput.logp_tflops",
    "perf/ref_log_probs_tflops": "throughput.ref_tflops",
    "perf/actor_train_tok_per_s": "throughput.train_tok_s",
    "perf/tokens_per_gpu_per_sec": "throughput.gen_tok_s_gpu",
    "perf/effective_tokens_per_gpu_per_sec": "throughput.gen_effective",
    "perf/longest_sample_tokens_per_sec": "throughput.longest",
    "perf/longest_effective_sample_tokens_per_sec": "throughput.longest_effective",
    "perf/<stage>/<phase>/<stat>": "time.sglang.<phase>.<stat>@<stage>",
    "rollout/prefix_cache_hit_rate": "perf.prefix_cache.hit_rate",
    "rollout/avg_cached_tokens_per_sample": "perf.prefix_cache.tokens",
    "rollout/spec_accept_rate": "spec.accept_rate",
    "rollout/spec_accept_length": "spec.accept_length",
}

CONFIG = meanings("""
    learning_rate: --lr | value_learning_rate: --critic-lr | weight_decay: --weight-decay | grad_clip: --clip-grad |
    clip_range: --eps-clip | clip_range_high: --eps-clip-high | dual_clip: --eps-clip-c |
    clip_range_value: --value-clip | kl_coef: --kl-loss-coef --kl-coef | kl_estimator: --kl-loss-type |
    entropy_coef: --entropy-coef | advantage_estimator: --advantage-estimator |
    normalize_advantage: --normalize-advantages | gamma: --gamma | gae_lambda: --lambd |
    group_size: --n-samples-per-prompt | batch_size: --rollout-batch-size | minibatch_size: --global-batch-size |
    updates_per_batch: --num-steps-per-rollout | total_steps: --num-rollout |
    max_new_tokens: --rollout-max-response-len | max_prompt_tokens: --rollout-max-prompt-len |
    temperature: --rollout-temperature | top_p: --rollout-top-p | top_k: --rollout-top-k |
    eval_temperature: --eval-temperature | is_correction: --use-tis | is_cap: --tis-clip |
    max_staleness: --update-weights-interval | model: --hf-checkpoint | reference_model: --ref-load |
    dataset: --prompt-data | eval_interval: --eval-interval | save_interval: --save-interval | seed: --seed
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        learning_rate=1e-6 grad_clip=1.0 clip_range=0.2 kl_coef=0.0 kl_estimator=k1 entropy_coef=0.0 group_size=1
        temperature=1.0 is_correction=False is_cap=2.0 advantage_estimator=grpo
    """)
}

LOG = {
    "kl.ref": "set --use-kl-loss (with --kl-loss-coef 0 the divergence is only logged)",
    "rollout_train.ratio.mean": "set --use-tis or --get-mismatch-metrics",
    "rollout_train.logp_absdiff.mean": "logged as train/train_rollout_logprob_abs_diff",
    **dict.fromkeys(("eval.reward", "eval.accuracy"), "set --eval-prompt-data and --eval-interval"),
    "reward.pass_at_k": "set --log-passrate",
    "length.correct.mean": "set --log-correct-samples",
    "reward.zero_std_frac": "rollout/zero_std/count_* over --rollout-batch-size",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The advantage estimator; a critic means PPO."""
    if estimator := config.get("advantage_estimator"):
        return str(estimator).lower()
    if "train/value_loss" in names or any(name.startswith("train/critic-") for name in names):
        return "ppo"
    return "grpo" if "rollout/raw_reward" in names else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The penalty is in the loss only where it is switched on, and in the reward with --kl-coef."""
    in_reward = bool(config.get("kl_coef"))
    refined: dict[str, Any] = {"kl_in_reward": in_reward} if "kl_coef" in values else {}
    if config.get("use_kl_loss") is False and not in_reward and "kl_coef" in values:
        refined["kl_coef"] = 0.0
    prompts, group = values.get("batch_size"), values.get("group_size")
    if prompts and group:
        refined["batch_size"] = prompts * group
    return refined
