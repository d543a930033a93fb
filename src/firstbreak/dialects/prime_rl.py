"""prime-rl (Prime Intellect): orchestrator and trainer write into one metrics.jsonl, several lines per step.

A name that is not finite is left out of its line: a gap can mean NaN. Names of three generations: flat (v0.3, v0.4),
`<metric>/<env>/<stat>` (v0.5), `train/<env>/<subset>/<agent>/<metric>/<stat>` (today; subset `effective` was trained
on, `all` is everything that arrived).
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "prime-rl"
WRITES_TEXT = True

MARKS = word_set("""
    train/<env>/<subset>/<agent>/<metric>/<stat> | train/<env>/<subset>/<agent>/solved_none | off_policy/<stat> |
    off_policy/in_flight/mean | off_policy/dropped | mismatch_kl/<env>/mean | is_masked/mean | is_masked_low/mean |
    masked_mismatch_kl/mean | unmasked_mismatch_kl/mean | kl_ent_ratio/mean | entropy/all/mean | time/wait_for_batch |
    time/broadcast_weights | time/wait_for_policy | batch/solve_none | batch/off_policy_level/mean | reward/all/mean |
    solve_none/all | off_policy_level/all/mean | empty_rollouts/all | errored_rollouts/all | scheduler/async_level |
    progress/rollouts | Seq. Length | Async Level | Max. Off-Policy Level | Max Off-Policy | Mismatch KL
""")
CONFIG_MARKS = frozenset(
    {"orchestrator.group_size", "trainer.optim.lr", "orchestrator.seq_len", "max_off_policy_steps"}
)

PREFIXES = {
    "train/agg/effective/<agent>/": "",
    "train/agg/all/<agent>/": "@all",
    "train/<env>/effective/<agent>/": "@<env>",
    "train/<env>/all/<agent>/": "@<env> all",
}

AXIS = ("step", "_step")

_ENGINE = "trainer over inference engine: numerics and staleness together"
_DPPO = "DPPO mask on the probability difference, not on the ratio"

NAMES: dict[str, str | Name] = {
    # rewards
    "reward/<stat>": "reward.<stat>",
    "reward/all/<stat>": "reward.<stat>",
    "reward/<env>/<stat>": "reward.<stat>@<env>",
    "reward/<env>": "reward.mean@<env>",
    "rewards/<func>/<stat>": "reward.component.<func>.<stat>",
    "metrics/<name>/<stat>": "custom.<name>.<stat>",
    "metrics/<name>": "custom.<name>",
    "solved_none": "reward.solve_none_frac",
    "solved_all": "reward.solve_all_frac",
    "solved_some": "reward.mixed_frac",
    "solve_none/<env>": "reward.solve_none_frac@<env>",
    "solve_all/<env>": "reward.solve_all_frac@<env>",
    "batch/solve_none": "reward.solve_none_frac",
    "batch/solve_all": "reward.solve_all_frac",
    "batch/effective_batch_size": "reward.effective_frac",
    # evaluation
    "eval/<env>/effective/<agent>/avg@<int:k>": "eval.reward@<env>",
    "eval/<env>/all/<agent>/avg@<int:k>": "eval.reward@<env> all",
    "eval/<env>/<subset>/<agent>/pass@<int:k>": "eval.pass_at_k@<env> pass@<k>",
    "eval/<env>/<subset>/<agent>/pass^<int:k>": Name("eval.pass_at_k@<env> pass^<k>", note="right in all k tries"),
    "eval/<env>/policy_version": "eval.policy_version.train@<env>",
    "eval/<env>/<subset>/<agent>/num_output_tokens/<stat>": "eval.length.<stat>@<env> <subset>",
    "eval/<env>/<subset>/<agent>/is_truncated/mean": "eval.length.clipped_ratio@<env> <subset>",
    "val_reward/mean": "eval.reward",
    # lengths and turns
    "num_output_tokens/<stat>": "length.<stat>",
    "num_input_tokens/<stat>": "length.prompt.<stat>",
    **dict.fromkeys(("num_total_tokens/<stat>", "seq_len/<stat>", "seq_len/all/<stat>"), "length.total.<stat>"),
    "seq_len/<env>/<stat>": "length.total.<stat>@<env>",
    "completion_len/<stat>": "length.<stat>",
    "prompt_len/<stat>": "length.prompt.<stat>",
    "is_truncated/mean": "length.clipped_ratio",
    "is_truncated/all/mean": "length.clipped_ratio",
    "is_truncated/<env>/mean": "length.clipped_ratio@<env>",
    "is_completed/mean": "length.terminated_frac",
    "stop_condition/<reason>": "length.stop.<reason>",
    "empty_rollouts/<env>": "length.empty_frac@<env>",
    "num_turns/<stat>": "turns.<stat>",
    "num_turns/all/<stat>": "turns.<stat>",
    "num_turns/<env>/<stat>": "turns.<stat>@<env>",
    "num_branches/<stat>": "turns.<stat>@branches",
    # what was lost on the way
    "has_error/mean": "tool.error_frac",
    "error/mean": "tool.error_frac",
    "errored_rollouts/<env>": "tool.error_frac@<env>",
    "error/<type>": "tool.errors.<type>",
    "cancelled/mean": "tool.cancelled_frac",
    "is_trainable/mean": "filter.trainable_frac",
    "is_admitted/mean": "filter.admitted_frac",
    "curriculum/<env>/admission_rate": "filter.admitted_frac@curriculum <env>",
    "filter/total_detected_rate": "filter.detected_frac",
    "batch/<env>": "samples.share@<env>",
    # the update
    "loss/<stat>": Name(
        "loss.total.<stat>",
        note="per micro-batch, divided by the global token count: not comparable across batch shapes",
    ),
    "is_masked/<stat>": Name("policy.clip_fraction.<stat>", note=_DPPO),
    "is_masked_low/<stat>": Name("policy.clip_fraction.low.<stat>", note=_DPPO),
    "is_masked_high/<stat>": Name("policy.clip_fraction.high.<stat>", note=_DPPO),
    "masked_advantage_positive/<stat>": "policy.clip_fraction.adv_pos.<stat>",
    "masked_advantage_negative/<stat>": "policy.clip_fraction.adv_neg.<stat>",
    "entropy/all/<stat>": "policy.entropy.<stat>",
    "entropy/<env>/<stat>": "policy.entropy.<stat>@<env>",
    "optim/lr": "lr",
    "optim/grad_norm": "grad.norm",
    "ref_kl/<stat>": "distill.ref_logratio.<stat>",
    "nll/<stat>": "sft.nll.<stat>",
    # trainer against inference engine
    "mismatch_kl/all/<stat>": Name("rollout_train.kl.k3.<stat>", note=_ENGINE),
    "mismatch_kl/<env>/<stat>": Name("rollout_train.kl.k3.<stat>@<env>", note=_ENGINE),
    "mismatch_kl/<stat>": Name("rollout_train.kl.k3.<stat>", note=_ENGINE),
    "masked_mismatch_kl/<stat>": "rollout_train.kl.masked.<stat>",
    "unmasked_mismatch_kl/<stat>": "rollout_train.kl.unmasked.<stat>",
    "kl_ent_ratio/<stat>": "rollout_train.kl_ent_ratio.<stat>",
    # freshness
    "off_policy/<stat>": Name("staleness.<stat>", note="time in the queue included"),
    "off_policy/in_flight/<stat>": "staleness.in_flight.<stat>",
    "off_policy/in_queue/<stat>": "staleness.in_queue.<stat>",
    "off_policy/dropped": "staleness.dropped",
    "off_policy_level/all/<stat>": "staleness.<stat>",
    "off_policy_level/<env>/<stat>": "staleness.<stat>@<env>",
    "batch/off_policy_level/<stat>": "staleness.<stat>",
    "batch/async_level": "staleness.async_level",
    "scheduler/async_level": "staleness.async_level",
    "scheduler/cancelled_rollouts": "staleness.cancelled",
    "scheduler/inflight_rollouts": "staleness.in_flight_rollouts",
    # progress, time, throughput
    "progress/total_tokens": "tokens.total",
    "progress/<count>": "tokens.<count>",
    "time/step": Name("time.step", note="orchestrator and trainer write the same name"),
    "time/wait_for_batch": "time.wait_batch",
    "time/wait_for_policy": "time.wait_policy",
    "time/broadcast_weights": "time.update_weights",
    "time/forward_backward": "time.train",
    "time/save_ckpt": "time.save",
    "time/<phase>": "time.<phase>",
    "timing/<phase>/<stat>": "time.rollout.<phase>.<stat>",
    "timing/agent/<phase>/<stat>": "time.rollout.agent.<phase>.<stat>",
    "perf/throughput": Name("throughput.tok_s", note="padding counted"),
    "perf/throughput_per_gpu": Name("throughput.tok_s_gpu", note="padding counted"),
    "perf/mfu": Name("perf.mfu", 0.01),
    "perf/peak_memory": Name("memory.gpu_reserved", 1.073741824, "logged in GiB"),
    "max_vio/<stat>": "moe.load_violation.<stat>",
    "routing_confidence/<stat>": "moe.routing_confidence.<stat>",
    # console
    "Reward": "reward.mean",
    "Time": "time.step",
    "Throughput": Name("throughput.tok_s", note="padding counted"),
    "Loss": "loss.total",
    "Entropy": "policy.entropy",
    "Mismatch KL": Name("rollout_train.kl.k3", note=_ENGINE),
    "Grad. Norm": "grad.norm",
    "LR": "lr",
    "Max Off-Policy": "staleness.max",
    "Max. Off-Policy Level": "staleness.max",
    "Async Level": "staleness.async_level",
    "Seq. Length": "length.total.mean",
    "Truncation": "length.clipped_ratio",
    "Truncated": "length.clipped_ratio",
    "Solve None": "reward.solve_none_frac",
    "Solve All": "reward.solve_all_frac",
    "Avg@<k>": "eval.accuracy",
    "Error": "tool.error_frac",
}

CONFIG = meanings("""
    learning_rate: trainer.optim.lr optim.lr | weight_decay: optim.weight_decay | grad_clip: optim.max_norm |
    clip_range: loss.dppo_mask_low | clip_range_high: loss.dppo_mask_high | kl_coef: loss.kl_tau |
    group_size: orchestrator.group_size orchestrator.rollouts_per_example | batch_size: orchestrator.batch_size |
    max_total_tokens: orchestrator.seq_len | max_new_tokens: sampling.max_completion_tokens sampling.max_tokens |
    temperature: sampling.temperature | top_p: sampling.top_p | eval_temperature: eval.sampling.temperature |
    max_staleness: max_off_policy_steps orchestrator.max_off_policy_steps |
    behave_weight_cap: trainer.loss.ratio_clip loss.ratio_clip | dynamic_sampling: train.filter_zero_advantages |
    advantage_estimator: algo | total_steps: max_steps | model: model.name | eval_interval: eval.interval |
    save_interval: ckpt.interval | seed: seed
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        learning_rate=1e-6 grad_clip=1.0 clip_range=0.2 clip_range_high=0.2 kl_coef=0.0 group_size=1
        max_total_tokens=2048 updates_per_batch=1 temperature=1.0 max_staleness=8 dynamic_sampling=True
        is_correction=True advantage_estimator=grpo
    """)
}

LOG = {
    **dict.fromkeys(("eval.reward", "eval.accuracy"), "add an [eval] section to the orchestrator's configuration"),
    "kl.ref": "there is no reference model: kl_tau acts on the ratio to the inference engine",
    "kl.old": "there is no separate old policy: read mismatch_kl",
    "rollout_train.kl": "logged as mismatch_kl by the trainer",
    "grad.norm": "set optim.max_norm",
    "reward.component.<func>.mean": "logged per reward function of the environment's rubric",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The advantage algorithm that the configuration names; GRPO by default."""
    return str(config.get("algo") or config.get("orchestrator.algo") or "grpo").lower()


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """`kl_tau` is a penalty on the ratio to the inference engine: there is no reference model to weigh."""
    return {"kl_coef": 0.0}
