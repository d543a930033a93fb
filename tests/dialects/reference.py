"""What the reference tables say that each logged name means, in the words of the vocabulary."""

import re

from benchmarks.logged_names import Row

from firstbreak.dialects._table import spelled
from firstbreak.dialects.signals import STATISTICS, lookup

# What the reference names otherwise. Left: the vocabulary's name. Right: the reference's, without statistic.
RENAMED = spelled(
    **{
        "length.mean": "length length.output length.response",
        "length.with_obs.mean": "length.non_prompt",
        "length.assistant.mean": "length.no_obs",
        "length.correct.clipped_ratio": "length.correct.clip",
        "length.incorrect.clipped_ratio": "length.incorrect.clip",
        "length.correct.share": "length.correct.quantile",
        "length.eos_count": "length.num_eos",
        "reward.mean": "reward reward.dist reward.mean.agent",
        "reward.step.mean": "reward.step_mean",
        "reward.positive.mean": "reward.positive_mean",
        "reward.baseline_zero_frac": "reward.baseline.all_wrong",
        "reward.baseline_one_frac": "reward.baseline.all_right",
        "reward.baseline_mixed_frac": "reward.baseline.mixed",
        "reward.at_max_frac": "reward.dist.correct",
        "reward.at_min_frac": "reward.dist.incorrect",
        "reward.component.<x>.mean": "reward.component",
        "group.correct_frac.mean": "group.correct_ratio",
        "value.loss": "value.loss_unclipped",
        "value.pred.mean": "value.pred_mean",
        "value.old.mean": "value.old_mean",
        "advantage.abs.mean": "advantage.abs_mean",
        "policy.ratio.mean": "ratio",
        "policy.ratio.absdev": "ratio.dev",
        "policy.ratio.ess": "ratio.ess",
        "policy.ratio.clamped.mean": "policy.ratio_clamped policy.ratio.clamped_mean",
        "policy.loss_weighted": "policy.loss.weighted",
        "policy.logp.proximal.mean": "policy.prox_logp",
        "policy.logits_max.mean": "policy.logits.max",
        "policy.logits_min.mean": "policy.logits.min",
        "policy.logits_absmax": "logits.max_abs",
        "policy.sapo_gate.soft.mean": "policy.sapo_gate.sapo_soft_gate",
        "policy.sapo_gate.scaled_pos.mean": "policy.sapo_gate.sapo_scaled_gate_pos",
        "policy.sapo_gate.scaled_neg.mean": "policy.sapo_gate.sapo_scaled_gate_neg",
        "policy.clip_fraction.low": "policy.clip_fraction.low_min",
        "policy.clip_fraction.high": "policy.clip_fraction.high_max",
        "staleness.mean": "policy.staleness staleness",
        "policy_version.train": "staleness.policy_version policy_version.theta",
        "policy_version.mean": "policy_version",
        "data.valid_frac": "data.valid_fraction",
        "kl.ref": "kl.ref_max",
        "kl.post": "kl.old.post",
        "kl.loss": "loss.kl",
        "entropy.coef": "config.entropy_coef",
        "pref.reward.accuracy": "pref.accuracy pref.accuracy_mean",
        "pref.loss": "pref.loss_mean",
        "lr": "pref.lr",
        "grad.norm": "pref.grad_norm",
        "custom.<x>": "pref.dpo custom",
        "eval.custom.<x>": "pref.dpo-eval",
        "samples.share": "samples.env_share.<env>",
        "tool.errors.<x>": "tool.error.<type>",
        "tool.invalid_frac": "tool.invalid_rate",
        "tool.malformed_think_frac": "tool.malformed_think_rate",
        "tool.runtime.mean": "tool.runtime",
        "filter.other.<x>": "filter.*",
        "filter.zero_std_dropped": "filter.zero_std",
        "filter.all_wrong_dropped": "filter.all_wrong",
        "filter.all_right_dropped": "filter.all_right",
        "filter.partial_dropped": "filter.nonzero",
        "filter.kept_frac": "filter.keep_rate filter.kept_frac.final"
        " filter.kept_frac.difficulty filter.kept_frac.error_len filter.kept_frac.max_len",
        "filter.dropped": "filter.dropped.<reason>",
        "optim.other.<x>": "optim.<k>",
        "rollout_train.kl.reverse": "rollout_train.kl.reverse_k3",
        "rollout_train.log_ppl_absdiff": "rollout_train.log_ppl_diff.abs",
        "rollout_train.ratio.absdev": "rollout_train.ratio_absdev",
        "rollout_train.ratio_cap_frac.seq_high": "rollout_train.ratio.seq.cap_high",
        "rollout_train.ratio_cap_frac.seq_low": "rollout_train.ratio.seq.cap_low",
        "rollout_train.ratio.mean": "rollout_train.ratio.<level>",
        "rollout_train.prob_diff": "rollout_train.prob_diff.<level>",
        "memory.gpu": "memory.gpu_alloc",
        "time.train": "time.update",
        "throughput.tok_s_gpu": "time.tok_s_gpu throughput.tps_gpu",
        "throughput.tok_s": "throughput.tps throughput.<name>/tps",
        "progress.step": "throughput.global_step",
        "samples.step": "throughput.batch_size",
        "eval.length.terminated_frac": "eval.terminated_frac",
        "eval.length.clipped_ratio": "eval.truncated_ratio",
        "eval.length.mean": "eval.response_len/mean",
        "eval.text.repetition_frac": "eval.repetition_frac",
        "eval.reward.positive.mean": "eval.positive_mean",
        "eval.policy_version.train": "eval.policy_version",
        "eval.samples.step": "eval.samples",
        "eval.throughput.gen_tok_s": "eval.tok_s",
        "eval.reward.zero_std_count.<x>": "eval.zero_std/count_<r>",
        "tokens.total": "tokens.total_tokens",
        "rollout_train.kept_frac": "rollout_train.kept_frac.ratio rollout_train.kept_frac.diff",
        "rollout_train.masked_seq_frac": "rollout_train.masked_seq_frac.geo"
        " rollout_train.masked_seq_frac.outlier rollout_train.masked_seq_frac.product",
    }
)

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
