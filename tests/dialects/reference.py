"""What the reference tables say that each logged name means, in the words of the vocabulary."""

from __future__ import annotations

import re

from benchmarks.logged_names import Row

from firstbreak.dialects.signals import STATISTICS, lookup

# What the reference names otherwise. Left: its spelling without statistic. Right: the vocabulary's.
RENAMED = {
    # one concept, one name
    "length": "length.mean",
    "length.output": "length.mean",
    "length.response": "length.mean",
    "length.non_prompt": "length.with_obs.mean",
    "length.no_obs": "length.assistant.mean",
    "length.correct.clip": "length.correct.clipped_ratio",
    "length.incorrect.clip": "length.incorrect.clipped_ratio",
    "length.correct.quantile": "length.correct.share",
    "length.num_eos": "length.eos_count",
    "reward": "reward.mean",
    "reward.step_mean": "reward.step.mean",
    "reward.positive_mean": "reward.positive.mean",
    "reward.baseline.all_wrong": "reward.baseline_zero_frac",
    "reward.baseline.all_right": "reward.baseline_one_frac",
    "reward.baseline.mixed": "reward.baseline_mixed_frac",
    "reward.dist.correct": "reward.at_max_frac",
    "reward.dist.incorrect": "reward.at_min_frac",
    "reward.dist": "reward.mean",
    "reward.component": "reward.component.<x>.mean",
    "reward.mean.agent": "reward.mean",
    "group.correct_ratio": "group.correct_frac.mean",
    "value.loss_unclipped": "value.loss",
    "value.pred_mean": "value.pred.mean",
    "value.old_mean": "value.old.mean",
    "advantage.abs_mean": "advantage.abs.mean",
    "ratio": "policy.ratio.mean",
    "ratio.dev": "policy.ratio.absdev",
    "ratio.ess": "policy.ratio.ess",
    "policy.ratio_clamped": "policy.ratio.clamped.mean",
    "policy.ratio.clamped_mean": "policy.ratio.clamped.mean",
    "policy.loss.weighted": "policy.loss_weighted",
    "policy.prox_logp": "policy.logp.proximal.mean",
    "policy.logits.max": "policy.logits_max.mean",
    "policy.logits.min": "policy.logits_min.mean",
    "logits.max_abs": "policy.logits_absmax",
    "policy.sapo_gate.sapo_soft_gate": "policy.sapo_gate.soft.mean",
    "policy.sapo_gate.sapo_scaled_gate_pos": "policy.sapo_gate.scaled_pos.mean",
    "policy.sapo_gate.sapo_scaled_gate_neg": "policy.sapo_gate.scaled_neg.mean",
    "policy.clip_fraction.low_min": "policy.clip_fraction.low",
    "policy.clip_fraction.high_max": "policy.clip_fraction.high",
    "policy.staleness": "staleness.mean",
    "staleness": "staleness.mean",
    "staleness.policy_version": "policy_version.train",
    "policy_version.theta": "policy_version.train",
    "policy_version": "policy_version.mean",
    "data.valid_fraction": "data.valid_frac",
    "kl.ref_max": "kl.ref",
    "kl.old.post": "kl.post",
    "loss.kl": "kl.loss",
    "config.entropy_coef": "entropy.coef",
    "pref.accuracy": "pref.reward.accuracy",
    "pref.accuracy_mean": "pref.reward.accuracy",
    "pref.loss_mean": "pref.loss",
    "pref.lr": "lr",
    "pref.grad_norm": "grad.norm",
    "pref.dpo": "custom.<x>",
    "pref.dpo-eval": "eval.custom.<x>",
    "custom": "custom.<x>",
    "samples.env_share.<env>": "samples.share",
    "tool.error.<type>": "tool.errors.<x>",
    "tool.invalid_rate": "tool.invalid_frac",
    "tool.malformed_think_rate": "tool.malformed_think_frac",
    "tool.runtime": "tool.runtime.mean",
    "filter.*": "filter.other.<x>",
    "filter.zero_std": "filter.zero_std_dropped",
    "filter.all_wrong": "filter.all_wrong_dropped",
    "filter.all_right": "filter.all_right_dropped",
    "filter.nonzero": "filter.partial_dropped",
    "filter.keep_rate": "filter.kept_frac",
    "filter.dropped.<reason>": "filter.dropped",
    "optim.<k>": "optim.other.<x>",
    "rollout_train.kl.reverse_k3": "rollout_train.kl.reverse",
    "rollout_train.log_ppl_diff.abs": "rollout_train.log_ppl_absdiff",
    "rollout_train.ratio_absdev": "rollout_train.ratio.absdev",
    "rollout_train.ratio.seq.cap_high": "rollout_train.ratio_cap_frac.seq_high",
    "rollout_train.ratio.seq.cap_low": "rollout_train.ratio_cap_frac.seq_low",
    "rollout_train.ratio.<level>": "rollout_train.ratio.mean",
    "rollout_train.prob_diff.<level>": "rollout_train.prob_diff",
    "memory.gpu_alloc": "memory.gpu",
    "time.update": "time.train",
    "time.tok_s_gpu": "throughput.tok_s_gpu",
    "throughput.tps": "throughput.tok_s",
    "throughput.tps_gpu": "throughput.tok_s_gpu",
    "throughput.<name>/tps": "throughput.tok_s",
    "throughput.global_step": "progress.step",
    "throughput.batch_size": "samples.step",
    "eval.terminated_frac": "eval.length.terminated_frac",
    "eval.truncated_ratio": "eval.length.clipped_ratio",
    "eval.response_len/mean": "eval.length.mean",
    "eval.repetition_frac": "eval.text.repetition_frac",
    "eval.positive_mean": "eval.reward.positive.mean",
    "eval.policy_version": "eval.policy_version.train",
    "eval.samples": "eval.samples.step",
    "eval.tok_s": "eval.throughput.gen_tok_s",
    "eval.zero_std/count_<r>": "eval.reward.zero_std_count.<x>",
    "tokens.total_tokens": "tokens.total",
    "rollout_train.kept_frac.ratio": "rollout_train.kept_frac",
    "rollout_train.kept_frac.diff": "rollout_train.kept_frac",
    "rollout_train.masked_seq_frac.geo": "rollout_train.masked_seq_frac",
    "rollout_train.masked_seq_frac.outlier": "rollout_train.masked_seq_frac",
    "rollout_train.masked_seq_frac.product": "rollout_train.masked_seq_frac",
    "filter.kept_frac.final": "filter.kept_frac",
    "filter.kept_frac.difficulty": "filter.kept_frac",
    "filter.kept_frac.error_len": "filter.kept_frac",
    "filter.kept_frac.max_len": "filter.kept_frac",
}

# Where a row lumps several things together, or says less than its definition: (dialect, raw name) -> what it must mean.
SPELLED_OUT = {
    ("trl", "eval_loss"): "eval.loss",  # "any of the above" behind `eval_`
    ("trl", "objective/entropy"): "policy.entropy_proxy.seq_sum",  # summed over the sequence, as its definition says
    ("areal", "importance_weight"): "policy.ratio.mean",
    ("areal", "behave_imp_weight"): "behave.ratio.mean",
    ("areal", "approx_kl"): "kl.old.k1",
    ("openrlhf", "train/dynamic_filtering_pass_rate"): "filter.accepted_per_prompt",  # not a fraction
    ("nemo_rl", "ray/node.1.gpu.1.util"): "gpu.util",  # utilisation, not memory
    ("prime_rl", "scheduler/async_level"): "staleness.async_level",
    ("prime_rl", "scheduler/cancelled_rollouts"): "staleness.cancelled",
    ("prime_rl", "scheduler/inflight_rollouts"): "staleness.in_flight_rollouts",
    ("prime_rl", "curriculum/x/admission_rate"): "filter.admitted_frac",
    ("slime", "train/critic-grad_norm"): "value.grad_norm",
    ("slime", "train/critic-lr-pg_1"): "value.lr",
    ("roll", "x/actor/pg_loss"): "policy.loss",  # a domain's copy of any name
    ("roll", "system/samples"): "progress.samples",
    ("roll", "actor/tis_clipped_ratio_mean"): "policy.ratio.clamped.mean",
    ("open_instruct", "learner_tokens_per_second_overall"): "throughput.train_tok_s",
    ("open_instruct", "learner_tokens_per_second_step"): "throughput.train_tok_s",
    ("open_instruct", "other/packed_ratio"): "perf.packed_ratio",
    ("tinker", "test/env/all/x"): "eval.custom.x",
    ("tinker", "test/env/tag/x"): "eval.custom.x",
    ("pufferlib", "environment/episode_return"): "reward.mean",
    ("pufferlib", "environment/episode_length"): "episode.length",
    ("pufferlib", "environment/score"): "score.mean",
}

NEGATED = re.compile(r"canonical = -value|flip sign|canonical entropy|NEGATIVE mean entropy")


def negated(row: Row) -> bool:
    """The logged number is the negative of the canonical one."""
    if row.framework == "areal(v0.3.x)":
        return False  # three names in one row: only one of them is negated
    return "neg_" in row.canonical or bool(NEGATED.search(f"{row.unit} {row.definition}"))


def meaning(row: Row, name: str) -> tuple[str, str]:
    """(concept, statistic or "") that the row, or the note on it above, gives to one of its names."""
    for key in (name, name.rpartition("/")[0]):
        if spelled_out := SPELLED_OUT.get((row.dialect, key)):
            return essence(spelled_out)
    return concept(row.canonical)


def concept(canonical: str) -> tuple[str, str]:
    """(concept without statistic and estimator, statistic or "") of a canonical name as the reference spells it."""
    name = canonical.replace(".neg_", ".")
    stem, _, last = name.rpartition(".")
    last = {"median": "p50"}.get(last, last)
    statistic = last if last in STATISTICS and name not in RENAMED else ""
    base = re.sub(r"\.(k1|k2|k3|<k1\|k2\|k3\|isk1>)$", "", stem if statistic else name)
    return essence(RENAMED.get(base, base))[0], statistic


def essence(signal: str) -> tuple[str, str]:
    """(concept without statistic, estimator and members, statistic or "") of a name of the vocabulary."""
    whole = re.sub(r"<[^<>]*>", "x", signal.partition("@")[0])
    whole = re.sub(r"\.(k1|k2|k3)(?=\.|$)", "", whole)
    found = lookup(whole) or lookup(f"{whole}.mean")
    spelled = (found.family or found.name if found else whole).replace("<", "").replace(">", "")
    stem, _, last = spelled.rpartition(".")
    return (stem, last) if last in STATISTICS else (spelled, "")
