"""AReaL: decoupled PPO, asynchronous by default.

`stat()` names end in /avg, /min, /max and are means over the `ppo_n_minibatches` updates of a step; `scalar()` names have
no ending. The three policies are behaviour (generated), proximal (before the update) and theta (in training).
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name, Older
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "AReaL"
WRITES_TEXT = True

MARKS = word_set("""
    ppo_actor/task_reward/avg ppo_actor/final_reward/avg ppo_actor/no_eos_ratios/avg ppo_actor/advantages/avg
    ppo_actor/seq_len/avg ppo_actor/n_seqs ppo_actor/update/importance_weight/avg
    ppo_actor/update/behave_imp_weight/avg ppo_actor/update/update_successful ppo_actor/update/<path:name>
    ppo_critic/<path:name> eval-rollout/reward timeperf/<phase> ppo_actor/behav_imp_weight_cap behave_imp_weight/avg
""")
CONFIG_MARKS = frozenset({"actor.ppo_n_minibatches", "rollout.max_head_offpolicyness", "actor.use_decoupled_loss"})

AXIS = ("step", "global_step", "_step")

PREFIXES = {**{f"{actor}/{of}": "" for actor in ("ppo_actor", "grpo_actor", "ppo/actor") for of in ("update/", "")}}

_MINIBATCHES = "mean over the minibatches of a step"
_FLOOR = "the longest sequence of every padded batch counts: floor of 1 / sequences per rank even without truncation"
_KEPT = "after mask or clamp, over kept tokens only"
_PROX = "quality of the interpolated proximal log-probabilities"

NAMES: dict[str, str | Name] = {
    # rewards
    "rollout/reward": Name("reward.rollout.mean", note="every finished rollout, also those filtered away"),
    "eval-rollout/reward": "eval.reward",
    "task_reward/<stat>": Name("reward.<stat>", note="what was trained on, before normalisation"),
    "final_reward/<stat>": Name("reward.token_shaped.<stat>", note="per token: outcome over length, tiny"),
    "kl_rewards/<stat>": Name("reward.kl_penalty.<stat>", note="minus kl_ctl times the divergence per token"),
    "advantages/<stat>": Name("advantage.<stat>", note="per token, after normalisation"),
    # lengths and turns
    "no_eos_ratios/<stat>": Name("length.clipped_ratio.<stat>", note=_FLOOR),
    "no_eos_ratio": Name("length.clipped_ratio", note=_FLOOR),
    "seq_len/<stat>": Name("length.total.<stat>", note="prompt and completion"),
    "prompt_len/<stat>": "length.prompt.<stat>",
    "correct_seq_len/<stat>": Name("length.correct.<stat>", note="prompt and completion, reward above 0"),
    "incorrect_seq_len/<stat>": Name("length.incorrect.<stat>", note="prompt and completion, reward 0 or below"),
    "rollout/num_turns": "turns.mean",
    "eval-rollout/num_turns": "eval.turns.mean",
    "n_seqs": "samples.step",
    "correct_n_seqs": "samples.correct",
    "incorrect_n_seqs": "samples.incorrect",
    "n_tokens": "tokens.step",
    "n_valid_tokens": "tokens.train",
    "n_total_tokens": Name("tokens.packed", note=_MINIBATCHES),
    "n_valid_tokens_in_loss": Name("tokens.train@minibatch", note=_MINIBATCHES),
    "n_masked_tokens": Name("tokens.masked", note=_MINIBATCHES),
    "masked_token_ratio": Name("tokens.masked_frac", note="prompt and padding"),
    "clipped_tokens": "tokens.clipped",
    "dual_clipped_tokens": "tokens.dual_clipped",
    # theta against proximal
    "importance_weight/<stat>": Name("policy.ratio.<stat>", note="theta over proximal; 1 with a single minibatch"),
    "approx_kl/<stat>": Name("kl.old.k1.<stat>", -1.0, "logged as theta minus proximal log-probability"),
    "clip_ratio/<stat>": "policy.clip_fraction.<stat>",
    "dual_clip_ratio/<stat>": "policy.clip_fraction.dual.<stat>",
    "actor_loss/<stat>": Name("policy.loss.<stat>", note="per token, not the normalised loss that is minimised"),
    "entropy/<stat>": "policy.entropy.<stat>",
    "new_logp/<stat>": "policy.logp.<stat>",
    "old_logp/<stat>": "behave.logp.<stat>",
    "clipped_new_logp/<stat>": "policy.clipped_logp.new.<stat>",
    "clipped_old_logp/<stat>": "policy.clipped_logp.old.<stat>",
    "vocab_min_logits/<stat>": "policy.logits_min.<stat>",
    "vocab_max_logits/<stat>": "policy.logits_max.<stat>",
    "sapo_soft_gate/<stat>": "policy.sapo_gate.soft.<stat>",
    "sapo_scaled_gate_pos/<stat>": "policy.sapo_gate.scaled_pos.<stat>",
    "sapo_scaled_gate_neg/<stat>": "policy.sapo_gate.scaled_neg.<stat>",
    "rkl_loss/<stat>": "distill.reverse_kl.<stat>",
    "grad_norm": Name("grad.norm", note="before clipping; not finite where a step was skipped"),
    "update_successful": "optim.update_ok",
    "lr": "lr",
    # proximal against behaviour
    "behave_imp_weight/<stat>": Name("behave.ratio.<stat>", note=_KEPT),
    "behave_approx_kl/<stat>": Name("behave.kl.k1.<stat>", -1.0, "logged as proximal minus behaviour log-probability"),
    "behave_filtered_ratio/<stat>": "behave.ratio_cap_frac.<stat>",
    "rs_filtered_fraction": Name("behave.ratio_cap_frac@rejection", note=_MINIBATCHES),
    "unclipped_behave_tokens": "behave.kept_tokens",
    "logp_diff/<stat>": Name("behave.kl.k1.<stat>@theta", note="behaviour minus theta: drift of the update included"),
    "logp_abs_diff/<stat>": Name(
        "rollout_train.logp_absdiff.<stat>", note="behaviour against theta: staleness included"
    ),
    "compute_logp/kl_div_direct/<stat>": "behave.kl.k1.<stat>@recomputed",
    "compute_logp/kl_div_taylor/<stat>": "behave.kl.k2.<stat>",
    "compute_logp/kl_div_dual/<stat>": "behave.kl.k3.<stat>",
    "compute_logp/prox_logp_gt/<stat>": "policy.logp.proximal.<stat>",
    "compute_logp/<method>/<quantity>/<stat>": Name("prox_approx.<quantity>.<stat>@<method>", note=_PROX),
    # freshness
    "version_stats/sample_staleness_<stat>": Name("staleness.<stat>", note=_MINIBATCHES),
    "version_stats/sample_staleness_theta_<stat>": Name("staleness.<stat>", note=_MINIBATCHES),
    "version_stats/sample_staleness_proximal_<stat>": Name("staleness.proximal.<stat>", note="-1 when on-policy"),
    "rollout/head_version": "policy_version.train",
    "rollout/sample_version/<stat>": "policy_version.<stat>",
    "version_stats/v_theta": "policy_version.train",
    "version_stats/v_proximal": "policy_version.proximal",
    "version_stats/n_valid_generated_tokens": "policy_version.tokens",
    # the critic
    "ppo_critic/critic_loss/<stat>": "value.loss.<stat>",
    "ppo_critic/new_value/<stat>": "value.pred.<stat>",
    "ppo_critic/old_value/<stat>": "value.old.<stat>",
    "ppo_critic/target_value/<stat>": "value.target.<stat>",
    "ppo_critic/clip_ratio/<stat>": "value.clip_fraction.<stat>",
    "ppo_critic/grad_norm": "value.grad_norm",
    "ppo_critic/lr": "value.lr",
    "ppo_critic/update_successful": "value.update_ok",
    # settings repeated in the log
    "mask_no_eos_with_zero": "config.mask_no_eos_with_zero",
    "eps_clip": "config.eps_clip",
    "use_dual_clip": "config.use_dual_clip",
    "c_clip": "config.c_clip",
    "rs_upper": "config.rs_upper",
    "rs_lower": "config.rs_lower",
    "behav_imp_weight_cap": "config.behave_cap",
    "behave_imp_weight_cap": "config.behave_cap",
    # other engines
    "sft/loss/<stat>": "sft.loss.<stat>",
    "sft/ppl/<stat>": "sft.ppl.<stat>",
    "dpo/loss/<stat>": "pref.loss.<stat>",
    "dpo/<path:name>": "custom.dpo.<name>",
    "dpo-eval/<path:name>": "eval.custom.dpo.<name>",
    "tree_token_ratio": "perf.tree_token_ratio",
    # time on the controller
    "timeperf/rollout": Name(
        "time.rollout", note="waiting for a batch: small in asynchronous runs bound by the trainer"
    ),
    "timeperf/train_step": "time.train",
    "timeperf/critic_train_step": "time.train_critic",
    "timeperf/update_weights": "time.update_weights",
    "timeperf/recompute_logp": "time.old_logp",
    "timeperf/ref_logp": "time.ref_logp",
    "timeperf/teacher_logp": "time.teacher_logp",
    "timeperf/critic_values": "time.values",
    "timeperf/compute_advantage": "time.advantage",
    "timeperf/eval": "time.eval",
    "timeperf/save": "time.save",
    "timeperf/checkpoint_for_recover": "time.ckpt",
    "timeperf/clear_batches": "time.other",
    "timeperf/rollout_pause": "time.pause",
    "timeperf/<role>_onload": "time.onload@<role>",
    "timeperf/<role>_offload": "time.offload@<role>",
    "timeperf/<phase>": "time.<phase>",
    # what a workflow or an agent logs by itself
    "rollout/<path:name>": "custom.<name>",
    "ppo_actor/<name>/<stat>": "custom.<name>.<stat>",
    "ppo_actor/<name>": "custom.<name>",
    "dynamic_sampling/<path:name>": "filter.other.<name>",
}

NOT_CONVERTED = {
    "rollout/accepted": "always 1.0: an average of ones, whose count is stripped before logging",
    "rollout/rejected": "1.0 where any rollout was rejected: its count is stripped before logging",
}

CONFIG = meanings("""
    learning_rate: actor.optimizer.lr | value_learning_rate: critic.optimizer.lr |
    lr_schedule: actor.optimizer.lr_scheduler_type | weight_decay: actor.optimizer.weight_decay |
    grad_clip: actor.optimizer.gradient_clipping | minibatches: actor.ppo_n_minibatches | clip_range: actor.eps_clip |
    clip_range_high: actor.eps_clip_higher | dual_clip: actor.c_clip | clip_range_value: critic.eps_clip |
    kl_coef: actor.kl_ctl | kl_estimator: actor.kl_estimator | importance_level: actor.importance_sampling_level |
    reward_clip: actor.reward_clip | normalize_advantage: actor.adv_norm | scale_rewards: actor.reward_norm |
    mask_truncated: actor.mask_no_eos_with_zero | gamma: actor.discount | gae_lambda: actor.gae_lambda |
    recompute_logprob: actor.recompute_logprob | use_decoupled_loss: actor.use_decoupled_loss |
    behave_weight_cap: actor.rejection_sampling.upper actor.behave_imp_weight_cap actor.behav_imp_weight_cap |
    max_staleness: rollout.max_head_offpolicyness | group_size: gconfig.n_samples |
    max_new_tokens: gconfig.max_new_tokens | temperature: gconfig.temperature | top_p: gconfig.top_p |
    top_k: gconfig.top_k | eval_temperature: eval_gconfig.temperature | batch_size: train_dataset.batch_size |
    max_prompt_tokens: train_dataset.max_length | dataset: train_dataset.path | eval_dataset: valid_dataset.path |
    model: actor.path | reference_model: ref.path | precision: actor.dtype | total_epochs: total_train_epochs |
    total_steps: total_train_steps | eval_interval: evaluator.freq_steps | save_interval: saver.freq_steps |
    seed: seed
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        learning_rate=1e-3 grad_clip=1.0 epochs_per_batch=1 minibatches=4 clip_range=0.2 clip_range_value=0.5
        kl_coef=0.1 kl_in_reward=True kl_estimator=k1 reward_clip=20.0 mask_truncated=False gae_lambda=1.0
        importance_level=token recompute_logprob=False use_decoupled_loss=False max_staleness=0 group_size=1
        max_new_tokens=16384 temperature=1.0
    """)
}

OLDER = (  # areal/api/cli_args.py at the tags
    Older("1.0.3", {"": {"behave_weight_cap": 5.0}}, options=("actor.behave_imp_weight_mode",)),
    Older("0.3.3", {"": {"learning_rate": 2e-5, "weight_decay": 0.05}}, options=("actor.group_reward_norm",)),
)

LOG = {
    "reward.mean": "logged as ppo_actor/task_reward/avg",
    "eval.reward": "set valid_dataset and evaluator.freq_steps; logged as eval-rollout/reward",
    "kl.ref": "set ref.path and kl_ctl; the divergence is minus kl_rewards/avg over kl_ctl",
    "behave.ratio.mean": "set actor.rejection_sampling (and actor.use_decoupled_loss=true)",
    "behave.kl": "set actor.use_decoupled_loss=true and actor.recompute_logprob=true",
    "staleness.mean": "logged as ppo_actor/update/version_stats/* in asynchronous runs",
    **dict.fromkeys(
        ("reward.zero_std_frac", "reward.group_std"),
        "set rollout.dump_to_file=true: group rewards are read from the trajectories",
    ),
    "reward.component.<func>.mean": "log each part in the workflow with stats_tracker.scalar",
    "optim.update_ok": "logged as ppo_actor/update/update_successful",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """With a critic PPO, otherwise a group baseline."""
    if any(name.startswith("ppo_critic/") for name in names):
        return "ppo"
    if any(name.startswith("sft/") for name in names):
        return "sft"
    return "grpo" if any(name.startswith("ppo_actor/") for name in names) else None
