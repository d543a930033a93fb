"""TRL (Hugging Face): GRPO, RLOO, PPO, DPO, KTO, Online DPO, reward models, asynchronous and experimental trainers.

The Trainer writes one name in several spellings: raw in trainer_state.json (`eval_reward`), rewritten for TensorBoard
and wandb (`eval/reward`, `train/loss`), and with headings in a notebook's progress table (`Training Loss`). Names are
means over `logging_steps` steps.
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name, Older
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "TRL"
WRITES_TEXT = True

MARKS = word_set("""
    completions/mean_length | completions/clipped_ratio | completions/mean_terminated_length | completion_length |
    frac_reward_zero_std | reward_std | rewards/<func>/mean | clip_ratio/region_mean |
    sampling/importance_sampling_ratio/mean | profiling/<path:span> | Training Loss | Validation Loss | num_tokens |
    mean_token_accuracy | rewards/chosen | rewards/margins | rewards/accuracies | logps/chosen | logits/chosen |
    objective/kl | objective/rlhf_reward | objective/non_score_reward | policy/approxkl_avg | val/clipfrac_avg |
    objective/logprobs | ppo/mean_scores | ppo/policy/approxkl | ppo/returns/mean | env/reward_mean | self_distillation/<name> |
    weight_sync_time_s | wait_scoring_ms | sample/staleness_mean | sample/rollout_queue_size | perf/weight_sync_s |
    train_runtime
""")
# What transformers' Trainer adds to every line. Two of these names alone are in half of all hand-written loops.
STRONG = (frozenset({"loss", "grad_norm", "learning_rate", "epoch"}),)
CONFIG_MARKS = frozenset(
    {"num_generations", "max_completion_length", "reward_weights", "scale_rewards", "num_ppo_epochs"}
)

PREFIXES = {"train/": "", "eval/": "eval", "eval_": "eval"}

AXIS = ("Step", "step", "global_step", "train/global_step", "episode", "objective/episode", "Epoch", "epoch")

_INTERVAL = "mean over the logging interval"
_KEPT = "after truncation or masking: masked samples count as 0"
_PADDED = "padding positions are counted too"

_OF_PAIRS = {
    "rewards/chosen": "pref.reward.chosen",
    "rewards/rejected": "pref.reward.rejected",
    "rewards/margins": "pref.reward.margin",
    "rewards/accuracies": "pref.reward.accuracy",
    "logps/chosen": "pref.logp.chosen",
    "logps/rejected": "pref.logp.rejected",
    "logits/chosen": "pref.logits.chosen",
    "logits/rejected": "pref.logits.rejected",
}
NAMES: dict[str, str | Name] = {
    # progress and the optimizer
    **dict.fromkeys(
        ("loss", "Training Loss"),
        Name("loss.total", note="starts at 0 by construction in GRPO: not a measure of progress"),
    ),
    "Validation Loss": "eval.loss",
    "ppo/loss/total": "loss.total",
    **{"ppo/returns_mean": "returns.mean", "ppo/returns/mean": "returns.mean", "ppo/returns_var": "returns.var"},
    **{"ppo/val_mean": "value.mean", "ppo/val/mean": "value.mean"},
    "aux_loss": "loss.aux",
    "loss/xpo": "loss.xpo",
    "grad_norm": "grad.norm",
    **dict.fromkeys(("learning_rate", "lr", "ppo/learning_rate"), "lr"),
    "entropy_coef": "entropy.coef",
    "mixture_coef": "config.mixture_coef",
    "epoch": "progress.epoch",
    "Epoch": "progress.epoch",
    **dict.fromkeys(("step", "Step", "global_step"), "progress.step"),
    "episode": "progress.episodes",
    "num_tokens": "tokens.total",
    "num_input_tokens_seen": "tokens.total",
    "total_flos": "perf.total_flos",
    # rewards
    "reward": Name("reward.mean", note="weighted sum of the reward functions"),
    "objective/scores": Name("reward.mean", note="reward model score, after the penalty for a missing EOS"),
    "ppo/mean_scores": "reward.mean",
    "objective/logprobs": "policy.logp.mean",
    "objective/ref_logprobs": "policy.logp.ref",
    "env/reward_mean": "reward.mean",
    "env/reward_total": "reward.shaped.mean",
    "reward_std": Name(
        "reward.std", note="over the whole batch from v0.27 on; up to v0.26 the mean spread within groups"
    ),
    "ppo/std_scores": "reward.std",
    "env/reward_std": "reward.std",
    "rewards/<func>/mean": Name("reward.component.<func>.mean", note="before its weight"),
    "rewards/<func>/std": Name("reward.component.<func>.std", note="over the whole batch, not within groups"),
    "rewards/<func>": Name("reward.component.<func>.mean", note="before its weight"),
    "frac_reward_zero_std": "reward.zero_std_frac",
    "self_distillation/reward_<stat>": "reward.<stat>",
    "self_distillation/rewards/<func>": "reward.component.<func>.mean",
    "self_distillation/flat_group_fraction": "reward.zero_std_frac",
    "self_distillation/group_reward_std_mean": "reward.group_std",
    "objective/rlhf_reward": "reward.shaped.mean",
    "objective/non_score_reward": Name("reward.kl_penalty", note="summed over the completion"),
    "ppo/mean_non_score_reward": Name("reward.kl_penalty", note="per token"),
    # completions
    "completions/<stat>_length": "length.<stat>",
    "completions/<who>_<stat>_length": "length.<stat>@<who>",
    "completion_length": "length.mean",
    "tokens/responses_len_<stat>": "length.<stat>",
    "completions/clipped_ratio": Name("length.clipped_ratio", note="last token is neither EOS nor padding"),
    "completions/truncated_fraction": "length.clipped_ratio",
    "completions/mean_terminated_length": Name("length.terminated_mean", note="0 where none ended by itself"),
    "completions/min_terminated_length": Name("length.terminated_min", note="0 where none ended by itself"),
    "completions/max_terminated_length": Name("length.terminated_max", note="0 where none ended by itself"),
    "val/num_eos_tokens": "length.eos_count",
    "val/contain_eos_token": Name("length.terminated_frac", note="local rank only"),
    "tokens/queries_len_<stat>": "length.prompt.<stat>",
    "train_seq_len": "length.packed_max",
    "tools/call_frequency": "tool.call_freq",
    "tools/failure_frequency": "tool.failure_freq",
    # divergences
    "kl": Name("kl.ref", note="k3 in GRPO, k1 of the rollout policy in RLOO; absent where beta is 0"),
    "loss/kl": "kl.ref",
    "objective/kl": Name("kl.ref.seq_sum", note=f"k1 by default, summed over the completion; {_PADDED}"),
    "objective/kl_coef": "kl.coef",
    "beta": "kl.coef",
    "policy/approxkl_avg": Name("kl.old.k2", note=f"{_PADDED} as zeros"),
    "ppo/policy/approxkl": "kl.old.k2",
    "ppo/policy/policykl": "kl.old.k1",
    # the policy update
    "policy_loss": Name("policy.loss", note="before the entropy bonus, with the KL term"),
    "loss/policy_avg": "policy.loss",
    "ppo/loss/policy": "policy.loss",
    "clip_ratio/region_mean": Name("policy.clip_fraction", note="tokens, or sequences with sequence-level ratios"),
    **dict.fromkeys(("clip_ratio", "policy/clipfrac_avg", "ppo/policy/clipfrac"), "policy.clip_fraction"),
    "clip_ratio/low_<stat>": "policy.clip_fraction.low.<stat>",
    "clip_ratio/high_<stat>": "policy.clip_fraction.high.<stat>",
    "cispo_clip_ratio": Name("policy.clip_fraction.high", note="the cap is absolute, not 1 + epsilon"),
    "ratio": Name("policy.ratio.mean", note="against the policy that generated"),
    "val/ratio": Name("policy.ratio.mean", note=_PADDED),
    "val/ratio_var": Name("policy.ratio.var", note="over minibatches, not over tokens"),
    "vespo/phi_seq_mean": "policy.vespo_weight",
    "ppo/policy/advantages_mean": "advantage.mean",
    # exploration
    "entropy": "policy.entropy",
    "policy/entropy_avg": Name("policy.entropy", note=_PADDED),
    "ppo/policy/entropy": "policy.entropy",
    "objective/entropy": Name(
        "policy.entropy_proxy.seq_sum", note="grows with length; each padding position subtracts 1"
    ),
    # the critic (`val` is value here, not validation)
    "loss/value_avg": Name("value.loss", note="half of the squared error"),
    "ppo/loss/value": "value.loss",
    "val/clipfrac_avg": "value.clip_fraction",
    "ppo/val/clipfrac": "value.clip_fraction",
    "ppo/val/vpred": "value.mean",
    "ppo/val/error": "value.error",
    "ppo/val/var_explained": "value.explained_variance",
    "ppo/returns/<stat>": "returns.<stat>",
    # trainer against inference engine
    "sampling/sampling_logp_difference/<stat>": "rollout_train.logp_absdiff.<stat>",
    "sampling/importance_sampling_ratio/<stat>": Name("rollout_train.ratio.<stat>", note=_KEPT),
    "self_distillation/policy_loss": "policy.loss",
    "self_distillation/distillation_loss": "distill.loss",
    "<trainer>/distillation_loss": "distill.loss",
    "iw_opd/mean_advantage": "advantage.mean",
    "iw_opd/mean_abs_advantage": "advantage.abs.mean",
    "iw_opd/<stat>_weight": "samples.weight.<stat>",
    "v_star": Name("value.target.mean", note="A2PO: value of the prompt under the optimal policy"),
    "implicit_reward": Name("pref.reward.chosen", note="A2PO: of every sample"),
    "self_distillation/server_logprob_abs_diff": "rollout_train.logp_absdiff.mean",
    # asynchronous GRPO and distillation from v1.16 on: worker, queue, packed batch
    "sample/staleness_<stat>": "staleness.<stat>",
    "sample/dropped_stale_total": "staleness.dropped",
    "sample/rollout_queue_size": "staleness.buffer_size",
    "sample/time_in_queue_s": "time.in_queue",
    "sample/forwarded_tokens_<stat>": "length.total.<stat>",
    "sample/trained_tokens_<stat>": "length.assistant.<stat>",
    "batch/dropped_oversize_total": "filter.dropped@oversize",
    "batch/masked_token_frac": "tokens.masked_frac",
    "batch/forwarded_tokens_per_step": "tokens.step",
    "batch/trained_tokens_per_step": "tokens.train",
    "batch/samples_per_step": "samples.step",
    "batch/groups_per_step": "samples.groups",
    "batch/row_tokens_max": "length.packed_max",
    "batch/<what>": "perf.batch.<what>",
    "perf/step_s": "time.step",
    "perf/fwd_bwd_s": "time.train",
    "perf/fwd_s": "time.forward",
    "perf/rollout_wait_s": "time.wait_batch",
    "perf/weight_sync_s": "time.update_weights",
    "perf/<phase>_s": "time.<phase>",
    "perf/forwarded_tok_s_wall_clock": "throughput.tok_s",
    "perf/trained_tok_s_wall_clock": "throughput.train_tok_s",
    "perf/<what>_tok_s_fwd_bwd": "throughput.<what>_fwd_bwd",
    "perf/mfu_wall_clock": "perf.mfu",
    "perf/mfu_fwd_bwd": "perf.mfu@fwd_bwd",
    "rollout/turns_<stat>": "turns.<stat>",
    "rollout/correctness_mean": "reward.accuracy",
    "rollout/generated_tok_s": "throughput.gen_tok_s",
    "rollout/inflight": "staleness.in_flight_rollouts",
    "rollout/duration_s": "time.rollout",
    "rollout/score_s": "time.reward",
    "rollout/score_wait_s": "time.wait_reward",
    "rollout/backpressure_s": "time.wait_trainer",
    "rollout/<phase>_s": "time.rollout.<phase>",
    "rollout/<name>": "custom.rollout.<name>",
    "env/<phase>_s": "time.env.<phase>",
    "teacher_score_s/<teacher>": "time.teacher_logp@<teacher>",
    "tools/<tool>/call_total": "custom.tool_calls@<tool>",
    "tools/<tool>/failure_total": "custom.tool_failures@<tool>",
    "tools/latency_s": "tool.runtime.mean",
    "tools/<tool>/latency_s": "tool.runtime.mean@<tool>",
    "tools/loop_exhausted_frac": "length.max_turns_frac",
    "tools/<name>": "custom.tool.<name>",
    # preferences
    **_OF_PAIRS,
    "objective/scores_margin": "pref.score_margin",
    "loss/dpo": "pref.loss",
    "nll_loss": "pref.nll",
    "log_odds_chosen": "pref.log_odds",
    "log_odds_ratio": "pref.log_odds_ratio",
    "mean_token_accuracy": "policy.token_accuracy",
    # reward models
    "accuracy": "rm.accuracy",
    "margin": "rm.margin",
    "mean_reward": "rm.reward.mean",
    "min_reward": Name("rm.reward.min", note=_INTERVAL),
    "max_reward": Name("rm.reward.max", note=_INTERVAL),
    # time and throughput
    "step_time": Name("time.step", note="generation included"),
    "time/ppo/total": "time.step",
    "weight_sync_time_s": "time.update_weights",
    "forward_time_s": "time.forward",
    "scoring_time_ms": Name("time.reward", 0.001),
    "wait_scoring_ms": Name("time.wait_reward", 0.001),
    "profiling/Time taken: <trainer>._calculate_rewards": "time.reward",
    "profiling/Time taken: <trainer>.<path:span>": "time.<span>",
    "eps": Name("throughput.episodes_per_s", note="episodes per second, not epsilon"),
    "training_tok/s": "throughput.train_tok_s",
    "generation_tok_per_s": "throughput.gen_tok_s",
    "buffer_qsize": "staleness.buffer_size",
    # an evaluation in a notebook's table: the Trainer takes `eval_` off and writes the first letters large
    "Reward": "eval.reward",
    **{raw.capitalize(): f"eval.{signal}" for raw, signal in _OF_PAIRS.items()},
    "Nll Loss": "eval.pref.nll",
    "Runtime": "time.eval",
    "Samples Per Second": "throughput.eval_samples",
    "Steps Per Second": "throughput.eval_steps",
    **{f"eval{sep}runtime": "time.eval" for sep in "_/"},
    **{f"eval{sep}samples_per_second": "throughput.eval_samples" for sep in "_/"},
    **{f"eval{sep}steps_per_second": "throughput.eval_steps" for sep in "_/"},
}

NOT_CONVERTED = {
    "completions (table)": "a table of texts, read as samples",
    "completions": "a table of texts, read as samples",
    "<any name via log_metric>": "a reward function may log any name: it is listed as recorded and not understood",
    "train_loss": "the mean over the whole run, written once at the end",
    **dict.fromkeys(
        ("train_runtime", "train_samples_per_second", "train_steps_per_second"), "a summary, written once at the end"
    ),
}

CONFIG = meanings("""
    learning_rate warmup_steps weight_decay kl_estimator loss_type scale_rewards reward_weights
        missing_eos_penalty gamma entropy_coef temperature top_p top_k min_p repetition_penalty max_staleness seed |
    lr_schedule: lr_scheduler_type | grad_clip: max_grad_norm | minibatch_size: per_device_train_batch_size |
    batch_size: generation_batch_size | grad_accumulation: gradient_accumulation_steps | total_steps: max_steps |
    total_epochs: num_train_epochs | epochs_per_batch: num_iterations num_ppo_epochs ppo_epochs |
    minibatches: num_mini_batches | kl_coef: beta kl_coef init_kl_coef | target_kl: target_kl target |
    clip_range: epsilon cliprange | clip_range_high: epsilon_high | clip_range_value: cliprange_value |
    dual_clip: delta | importance_level: importance_sampling_level | group_size: num_generations rloo_k |
    normalize_advantage: normalize_advantages | normalize_reward: whiten_rewards | reward_clip: reward_clip_range |
    mask_truncated: mask_truncated_completions | gae_lambda: lam | value_coef: vf_coef |
    max_new_tokens: max_completion_length response_length max_new_tokens | max_prompt_tokens: max_prompt_length |
    max_total_tokens: max_length | is_correction: vllm_importance_sampling_correction |
    is_cap: vllm_importance_sampling_clip_max vllm_importance_sampling_cap | precision: bf16 |
    model: _name_or_path model_name_or_path model_name | reference_model: ref_model | dataset: dataset_name |
    log_interval: logging_steps | eval_interval: eval_steps | eval_on_start: eval_on_start |
    save_interval: save_steps
""")

#: what only asynchronous GRPO logs
_ASYNCHRONOUS = frozenset(
    {"weight_sync_time_s", "wait_scoring_ms", "buffer_qsize", "sample/staleness_mean", "perf/weight_sync_s"}
)

DEFAULTS: dict[str, dict[str, Any]] = {
    "": {"grad_clip": 1.0, "weight_decay": 0.0},
    "grpo": options("""
        learning_rate=1e-6 kl_coef=0.0 kl_in_reward=False clip_range=0.2 group_size=8 epochs_per_batch=1
        max_new_tokens=512 temperature=1.0 top_p=1.0 mask_truncated=False scale_rewards=group loss_type=dapo
        importance_level=token is_correction=True is_cap=3.0
    """),
    "rloo": options("""
        learning_rate=1e-6 kl_coef=0.05 kl_in_reward=True clip_range=0.2 group_size=2 epochs_per_batch=1
        max_new_tokens=512 temperature=1.0
    """),
    "ppo": options("""
        learning_rate=3e-6 kl_coef=0.05 kl_in_reward=True kl_estimator=k1 clip_range=0.2 clip_range_value=0.2
        value_coef=0.1 gamma=1.0 gae_lambda=0.95 epochs_per_batch=4 max_new_tokens=53 temperature=0.7
    """),
    "dpo": {"learning_rate": 1e-6, "kl_coef": 0.1, "loss_type": "sigmoid"},
    "kto": {"learning_rate": 1e-6, "kl_coef": 0.1},
    "online_dpo": {"learning_rate": 5e-7, "kl_coef": 0.1, "max_new_tokens": 64, "temperature": 0.9},
}

_BEFORE_0_22 = {"loss_type": "bnpo", "max_new_tokens": 256, "is_correction": False, "is_cap": None}
_BEFORE_0_18 = _BEFORE_0_22 | {"kl_coef": 0.04, "temperature": 0.9}
OLDER = (  # trl/trainer/grpo_config.py at the tags; 0.18 and 0.19 differ in kl_coef (0.04, 0.0) and look the same
    Older("0.19", {"grpo": _BEFORE_0_22 | {"kl_coef": None}}, names=("frac_reward_zero_std",), lacks=("entropy",)),
    Older(
        "0.17",
        {"grpo": _BEFORE_0_18},
        names=("clip_ratio/region_mean", "completions/mean_length"),
        lacks=("frac_reward_zero_std", *_ASYNCHRONOUS),
    ),
    Older("0.16", {"grpo": _BEFORE_0_18 | {"loss_type": "grpo"}}, names=("completion_length",)),
)

LOG = {
    "reward.mean": "group_relative, actor_critic: logged as reward; set logging_steps=1, and keep the whole trainer_state.json",
    "reward.component.<func>.mean": "group_relative: logged as rewards/<function>/mean for each of reward_funcs",
    "reward.zero_std_frac": "logged as frac_reward_zero_std by GRPOTrainer from v0.18 on",
    "reward.group_std": "use TRL's frac_reward_zero_std, or log per-group spread with log_metric in a reward function",
    "length.clipped_ratio": "logged as completions/clipped_ratio from v0.17 on",
    "length.terminated_mean": "logged as completions/mean_terminated_length from v0.17 on",
    "kl.ref": "set beta > 0 in GRPOConfig (0.0 loads no reference model and logs no kl)",
    "kl.old": "use num_iterations > 1 and read clip_ratio; GRPOTrainer logs no divergence from the old policy",
    "policy.entropy": "logged as entropy from v0.20 on",
    "policy.clip_fraction": "logged as clip_ratio/region_mean; stays 0 with num_iterations=1",
    **dict.fromkeys(("grad.norm", "lr"), "logged by every trainer; set logging_steps=1"),
    **dict.fromkeys(("eval.reward", "eval.loss"), "set eval_strategy='steps', eval_steps and an eval_dataset"),
    "rollout_train.logp_absdiff.mean": "logged with use_vllm=True (sampling/sampling_logp_difference) from v0.24 on",
    "rollout_train.ratio.mean": "set vllm_importance_sampling_correction=True with use_vllm=True",
    "tool.call_freq": "pass tools= to GRPOTrainer",
    "value.explained_variance": "the critic-free trainers have no value function; PPOTrainer of v0.11 logged it",
    "time.step": "logged as step_time",
    "tokens.step": "logged as num_tokens (cumulative)",
    "staleness.mean": "only the asynchronous GRPO trainer has stale data; see max_staleness",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """Words to which some trainers give a meaning of their own, told by what they log beside them."""
    bare = {_bare(name) for name in names}
    special: dict[str, str | Name] = {}
    if "reward_std" in bare:  # no reward model in training: what a reward function logs, or a callback of the user's
        special["accuracy"] = "reward.accuracy"
        special["mean_reward"] = "reward.mean"
    if "rewards/chosen" in bare and "objective/scores" not in bare:  # KTO
        special["kl"] = Name(
            "kl.ref_baseline", note="clamped log ratio on mismatched pairs, not a divergence of samples"
        )
    if {"reward", "completion_length"} <= bare and not any(n.startswith("completions/") for n in bare):  # up to v0.16
        special["reward_std"] = Name("reward.group_std", note="the mean spread within groups")
    if bare & _ASYNCHRONOUS:
        special["kl"] = Name("kl.old", note="against the policy that generated, not the reference")
        special["reward_std"] = Name("reward.group_std", note="within groups, mean over rows")
    return special


def _bare(name: str) -> str:
    return name.removeprefix("train/").removeprefix("eval/").removeprefix("eval_")


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From the names that only one family of trainers writes."""
    bare = {_bare(name) for name in names}
    if any(name.startswith(("ppo/", "val/ratio", "policy/approxkl")) for name in bare):
        return "ppo"
    if bare & {"rewards/chosen", "Rewards/chosen"}:
        if "objective/scores_margin" in bare:
            return "online_dpo"
        return "kto" if "kl" in bare else "dpo"
    if bare & {"mean_reward", "min_reward"} and "reward_std" not in bare:
        return "reward"
    if config.get("rloo_k") is not None or "RLOO" in str(config.get("trainer_class", "")):
        return "rloo"
    if "reward_std" in bare or config.get("num_generations") is not None:
        return "grpo"
    return None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """`scale_rewards` was a flag before it was a word; a generation batch feeds several optimizer steps."""
    refined: dict[str, Any] = {}
    if isinstance(scale := values.get("scale_rewards"), bool):
        refined["scale_rewards"] = "group" if scale else "none"
    if values.get("precision") is True:
        refined["precision"] = "bf16"
    elif "precision" in values:
        refined["precision"] = "fp16" if config.get("fp16") else "fp32"
    if (steps := values.get("total_steps")) is not None and steps <= 0:
        refined["total_steps"] = None  # -1: num_train_epochs decides
    per_generation, accumulation = config.get("steps_per_generation"), values.get("grad_accumulation")
    if isinstance(per_generation, int | float) and accumulation:
        refined["minibatches"] = max(1, round(per_generation / accumulation))
    return refined
