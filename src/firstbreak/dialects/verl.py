"""verl: `critic/` in a name does not mean that there is a critic; times and counts of the asynchronous trainers included.

Names of v0.1 to the snapshot of 2026-08: `test_score` -> `val/test_score` -> `val-core`, `timing` -> `timing_s`,
`critic/kl` -> `actor/reward_kl_penalty`, `mismatch` -> `rollout_corr`. Many public forks still write the first ones.
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name, Older
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "verl"
WRITES_TEXT = True

MARKS = word_set("""
    critic/score/mean critic/rewards/mean critic/advantages/mean critic/vf_explained_var actor/ppo_kl
    actor/pg_clipfrac_lower actor/reward_kl_penalty response_length/clip_ratio prompt_length/clip_ratio
    timing_s/update_actor timing_s/gen timing_per_token_ms/gen perf/max_memory_reserved_gb global_seqlen/minmax_diff
    training/global_step training/rollout_probs_diff_mean rollout_corr/<name> mismatch/<name> fully_async/<path:name>
    val-core/<path:name> val-aux/<path:name> val/test_score/<path:source>
""")
CONFIG_MARKS = word_set("""
    actor_rollout_ref.actor.ppo_mini_batch_size actor_rollout_ref.rollout.n algorithm.adv_estimator
    actor_rollout_ref.actor.clip_ratio
""")

AXIS = ("step", "training/global_step", "_step")

_TIMES = {
    "step": "time.step",
    "gen": "time.rollout",
    "reward": "time.reward",
    "old_log_prob": "time.old_logp",
    "ref": "time.ref_logp",
    "values": "time.values",
    "adv": "time.advantage",
    "update_critic": "time.train_critic",
    "update_actor": "time.train",
    "update_weights": "time.update_weights",
    "param_sync": "time.update_weights",
    "testing": "time.eval",
    "save_checkpoint": "time.save",
    "<phase>": "time.<phase>",
}

#: what is said of trainer and rollout engine, under two beginnings of a name
_MISMATCH = {
    "kl": "rollout_train.kl.k1",
    "k3_kl": "rollout_train.kl.k3",
    "training_ppl": "rollout_train.ppl.train",
    "rollout_ppl": "rollout_train.ppl.rollout",
    "training_log_ppl": "rollout_train.log_ppl.train",
    "rollout_log_ppl": "rollout_train.log_ppl.rollout",
    "log_ppl_diff": "rollout_train.log_ppl_diff.mean",
    "log_ppl_diff_<stat>": "rollout_train.log_ppl_diff.<stat>",
    "log_ppl_abs_diff": "rollout_train.log_ppl_absdiff",
    "ppl_ratio": "rollout_train.ppl_ratio",
}

_TRUNCATED = "mean of the truncated weights; extremes are raw"
_IS = "trainer over rollout probability"

NAMES: dict[str, str | Name] = {
    "step": "progress.step",
    "training/global_step": "progress.step",
    "training/epoch": "progress.epoch",
    # rewards and advantages
    "critic/score/<stat>": Name("reward.<stat>", note="before the KL penalty, aborted samples left out"),
    "critic/rewards/<stat>": Name("reward.shaped.<stat>", note="equals the score unless use_kl_in_reward"),
    "critic/advantages/<stat>": Name("advantage.<stat>", note="over response tokens"),
    "critic/returns/<stat>": Name("returns.<stat>", note="over response tokens; equals the advantage in GRPO"),
    # the critic
    "critic/values/<stat>": "value.<stat>",
    "critic/vpred_<stat>": "value.pred.<stat>",
    "critic/vf_explained_var": Name("value.explained_variance", note="with the values before the update"),
    "critic/vf_loss": Name("value.loss", note="half of the clipped squared error"),
    "critic/vf_clipfrac": "value.clip_fraction",
    "critic/grad_norm": "value.grad_norm",
    "critic/lr": "value.lr",
    "critic/lr(1e-4)": Name("value.lr", 1e-4, "logged in units of 1e-4"),
    # the policy update
    "actor/pg_loss": "policy.loss",
    "actor/loss": "loss.total",
    "actor/pg_clipfrac": "policy.clip_fraction",
    "actor/pg_clipfrac_lower": Name(
        "policy.clip_fraction.dual", note="the dual clip, not the lower side of the PPO clip"
    ),
    "actor/ppo_kl": Name("kl.old.k1", note="against the rollout policy in bypass mode"),
    "actor/kl_loss": Name("kl.ref", note="k3 clamped to +-10 by default, without its coefficient"),
    "actor/reward_kl_penalty": Name("kl.ref", note="k1 by default, of the old policy"),
    "actor/kl_coef": "kl.coef",
    "critic/kl": Name("kl.ref", note="k1 by default, of the old policy; a penalty in the reward"),
    "actor/reward_kl_penalty_coeff": "kl.coef",
    "critic/kl_coeff": "kl.coef",
    "actor/entropy": Name("policy.entropy", note="a sum per sequence with loss_agg_mode seq-mean-token-sum"),
    "actor/entropy_loss": Name("policy.entropy", note="plus the entropy, in spite of the name"),
    "actor/grad_norm": "grad.norm",
    "actor/lr": "lr",
    "actor/lr(1e-4)": Name("lr", 1e-4, "logged in units of 1e-4"),
    # lengths, turns, tools
    "response_length/<stat>": Name("length.<stat>", note="with tool tokens in multi-turn rollouts"),
    "response_length/clip_ratio": Name("length.clipped_ratio", note="share at the padded width of the batch"),
    "response_length_non_aborted/<stat>": "length.non_aborted.<stat>",
    "response_length_non_aborted/clip_ratio": "length.non_aborted.clipped_ratio",
    "response/aborted_ratio": "length.aborted_frac",
    "prompt_length/<stat>": "length.prompt.<stat>",
    "prompt_length/clip_ratio": "length.prompt.clipped_ratio",
    "num_turns/<stat>": "turns.<stat>",
    "training/num_turns/<stat>": "turns.<stat>",
    "tool_call_counts/<stat>": "tool.call_freq.<stat>",
    "timing_s/agent_loop/tool_calls/<stat>": "tool.runtime.<stat>",
    "agent_loop/tool_calls/<stat>": Name("tool.runtime.<stat>", note="seconds, in spite of the name"),
    "timing_s/agent_loop/<phase>/<stat>": "time.agent_loop.<phase>.<stat>",
    "timing_s/generation_timing/<stat>": Name("time.agent_loop.generate.<stat>", note="per rollout worker"),
    # evaluation: mean over samples, best or majority of n; `_at_` is how MLflow writes `@`
    "val-core/<path:source>/<var>/mean@<int:n>": "eval.accuracy@<source>",
    "val-core/<path:source>/<var>/mean_at_<int:n>": "eval.accuracy@<source>",
    "val-core/<path:source>/<var>/maj@<int:n>/<kind>": "eval.accuracy@<source> maj@<n>",
    "val-core/<path:source>/<var>/best@<int:n>/<kind>": "eval.accuracy@<source> best@<n>",
    "val-core/<path:source>/<var>/<rest>": "eval.accuracy@<source> <rest>",
    "val-aux/<path:source>/<var>/<rest>/<kind>": "eval.aux.<var>@<source> <rest> <kind>",
    "val-aux/<path:source>/<var>/<rest>": "eval.aux.<var>@<source> <rest>",
    "val-aux/num_turns/<stat>": "eval.turns.<stat>",
    "val/test_score/<path:source>": "eval.accuracy@<source>",
    "test_score/<path:source>": "eval.accuracy@<source>",
    # trainer against rollout engine
    "training/rollout_probs_diff_<stat>": Name("rollout_train.prob_absdiff.<stat>", note="of probabilities, not logs"),
    "training/rollout_probs_diff_valid": "rollout_train.valid",
    "training/rollout_actor_probs_pearson_corr": "rollout_train.prob_pearson",
    **{f"rollout_corr/{what}": signal for what, signal in _MISMATCH.items()},
    "rollout_corr/chi2_token": "rollout_train.chi2.token",
    "rollout_corr/chi2_seq": "rollout_train.chi2.seq",
    "rollout_corr/rollout_is_<stat>": Name("rollout_train.ratio.<stat>", note=f"{_IS}; {_TRUNCATED}"),
    "rollout_corr/rollout_is_eff_sample_size": "rollout_train.ess",
    "rollout_corr/rollout_is_ratio_fraction_high": "rollout_train.ratio_cap_frac.high",
    "rollout_corr/rollout_is_ratio_fraction_low": "rollout_train.ratio_cap_frac.low",
    "rollout_corr/rollout_is_oob_ratio": "rollout_train.ratio_cap_frac",
    "rollout_corr/rollout_is_seq_<stat>": "rollout_train.ratio.seq.<stat>",
    "rollout_corr/rollout_is_seq_max_deviation": "rollout_train.ratio.seq.max_deviation",
    "rollout_corr/rollout_is_seq_fraction_high": "rollout_train.ratio_cap_frac.seq_high",
    "rollout_corr/rollout_is_seq_fraction_low": "rollout_train.ratio_cap_frac.seq_low",
    "rollout_corr/rollout_is_batch_norm_factor": "rollout_train.ratio.batch_norm",
    "rollout_corr/rollout_rs_masked_fraction": "rollout_train.masked_frac",
    "rollout_corr/rollout_rs_seq_masked_fraction": "rollout_train.masked_seq_frac",
    "rollout_corr/rollout_rs_<rule>_<stat>": "rollout_train.rs.<rule>.<stat>",
    "rollout_corr/rollout_rs_<rule>_fraction_high": "rollout_train.rs.<rule>.high",
    "rollout_corr/rollout_rs_<rule>_fraction_low": "rollout_train.rs.<rule>.low",
    "rollout_corr/rollout_rs_<rule>_masked_fraction": "rollout_train.rs.<rule>.masked",
    "rollout_corr/rollout_rs_<rule>_seq_masked_fraction": "rollout_train.rs.<rule>.seq_masked",
    **{f"mismatch/mismatch_{what}": signal for what, signal in _MISMATCH.items()},
    "mismatch/rollout_is_<stat>": Name("rollout_train.ratio.<stat>", note=_IS),
    "mismatch/rollout_is_eff_sample_size": "rollout_train.ess",
    "mismatch/rollout_is_ratio_fraction_high": "rollout_train.ratio_cap_frac.high",
    "mismatch/rollout_is_ratio_fraction_low": "rollout_train.ratio_cap_frac.low",
    "mismatch/rollout_is_veto_fraction": "rollout_train.veto_frac",
    "mismatch/rollout_is_catastrophic_token_fraction": "rollout_train.masked_frac@catastrophic",
    # freshness
    "training/off_policy/trajectory_staleness/<stat>": Name("staleness.<stat>", note="of the newest version used"),
    "training/off_policy/trajectory_staleness_worst/<stat>": "staleness.worst.<stat>",
    "training/off_policy/trajectory_spans/<stat>": "staleness.span.<stat>",
    "training/off_policy/evicted_samples": "staleness.dropped",
    "training/filter_groups/evicted_samples": "filter.zero_std_dropped",
    "training/filter_groups/discarded_surplus_samples": "filter.surplus_dropped",
    "training/rollout_failure/evicted_samples": "filter.failed",
    "fully_async/count/stale_samples_processed": Name("staleness.stale_samples", note="cumulative"),
    "fully_async/count/stale_trajectory_processed": Name("staleness.stale_trajectories", note="cumulative"),
    "fully_async/count/dropped_stale_samples": Name("staleness.dropped", note="cumulative"),
    "fully_async/count/total_generated_samples": Name("staleness.generated", note="cumulative"),
    "fully_async/count/current_param_version": "policy_version.train",
    "fully_async/partial/total_partial_num": "staleness.partial.count",
    "fully_async/partial/partial_ratio": "staleness.partial.frac",
    "fully_async/partial/max_partial_span": "staleness.partial.max_span",
    "fully_async/trainer/idle_ratio": "time.idle.trainer",
    "fully_async/rollouter/idle_ratio": "time.idle.rollout",
    "fully_async/total_wait_time": "time.wait_batch",
    "trainer/idle_ratio": "time.idle.trainer",
    "rollouter/idle_ratio": "time.idle.rollout",
    # gradient noise, distillation, mixtures of experts, speculation
    "variance_proxy/proxy1_signal_strength": "grad.noise.signal",
    "variance_proxy/proxy2_total_power": "grad.noise.power",
    "variance_proxy/proxy3_pure_noise": "grad.noise.noise",
    "variance_proxy/expected_a_squared": "grad.noise.a2",
    "variance_proxy/expected_w": "grad.noise.w",
    "distillation/loss": "distill.loss",
    "distillation/abs_loss": "distill.abs_loss",
    "distillation/overlap_ratio": "distill.overlap",
    "distillation/student_mass": "distill.student_mass",
    "distillation/teacher_mass": "distill.teacher_mass",
    "rollout/spec_accept_rate": "spec.accept_rate",
    "rollout/spec_accept_length": "spec.accept_length",
    "rollout/moe/<kind>_vio/<part>": "moe.load_violation@<kind> <part>",
    # time, throughput, memory
    **{f"{place}/{phase}": signal for place in ("timing_s", "timing") for phase, signal in _TIMES.items()},
    "perf/time_per_step": "time.step",
    "timing_per_token_ms/<phase>": "time_per_token.<phase>",
    "perf/total_num_tokens": "tokens.step",
    "perf/throughput": "throughput.tok_s_gpu",
    "perf/mfu/actor": "perf.mfu.actor",
    "mfu/actor": "perf.mfu.actor",
    "perf/mfu/critic": "perf.mfu.critic",
    "mfu/critic": "perf.mfu.critic",
    "perf/mfu/actor_infer": "perf.mfu.infer",
    "perf/max_memory_allocated_gb": "memory.gpu",
    "perf/max_memory_reserved_gb": "memory.gpu_reserved",
    "perf/cpu_memory_used_gb": "memory.cpu",
    "global_seqlen/<stat>": "perf.seqlen_balance.<stat>",
    "global_seqlen/minmax_diff": "perf.seqlen_balance.diff",
    "global_seqlen/balanced_<stat>": "perf.seqlen_balanced.<stat>",
}

NOT_CONVERTED = {
    "val/generations (table)": "a table of texts, read as samples",
    "val/generations": "a table of texts, read as samples",
}

CONFIG = meanings("""
    learning_rate: actor.optim.lr | value_learning_rate: critic.optim.lr | warmup_steps: actor.optim.lr_warmup_steps |
    weight_decay: actor.optim.weight_decay | grad_clip: actor.grad_clip actor.optim.clip_grad |
    clip_range: actor.clip_ratio_low actor.clip_ratio | clip_range_high: actor.clip_ratio_high |
    dual_clip: actor.clip_ratio_c | clip_range_value: critic.cliprange_value | entropy_coef: actor.entropy_coeff |
    loss_type: actor.loss_agg_mode | epochs_per_batch: actor.ppo_epochs | minibatch_size: actor.ppo_mini_batch_size |
    batch_size: data.train_batch_size | kl_in_reward: algorithm.use_kl_in_reward | kl_coef: actor.kl_loss_coef |
    kl_estimator: actor.kl_loss_type | target_kl: algorithm.kl_ctrl.target_kl |
    advantage_estimator: algorithm.adv_estimator | scale_rewards: algorithm.norm_adv_by_std_in_grpo |
    gamma: algorithm.gamma | gae_lambda: algorithm.lam | dynamic_sampling: algorithm.filter_groups.enable |
    group_size: rollout.n | temperature: rollout.temperature | top_p: rollout.top_p | top_k: rollout.top_k |
    eval_temperature: rollout.val_kwargs.temperature | max_turns: rollout.multi_turn.max_assistant_turns |
    max_new_tokens: data.max_response_length | max_prompt_tokens: data.max_prompt_length |
    is_correction: algorithm.rollout_correction.rollout_is |
    is_cap: algorithm.rollout_correction.rollout_is_threshold actor.tis_imp_ratio_cap |
    max_staleness: async_training.staleness_threshold | model: actor_rollout_ref.model.path |
    dataset: data.train_files | eval_dataset: data.val_files | max_prompts: data.train_max_samples |
    total_steps: trainer.total_training_steps | total_epochs: trainer.total_epochs | eval_interval: trainer.test_freq |
    eval_on_start: trainer.val_before_train | save_interval: trainer.save_freq | seed: data.seed
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        learning_rate=1e-6 grad_clip=1.0 clip_range=0.2 dual_clip=3.0 epochs_per_batch=1 minibatch_size=256
        batch_size=1024 group_size=1 max_new_tokens=512 temperature=1.0 entropy_coef=0.0 gamma=1.0 gae_lambda=1.0
        loss_type=token-mean scale_rewards=True dynamic_sampling=False is_correction=False kl_in_reward=False
        kl_coef=0.0
    """)
}

LOG = {
    "kl.ref": "set actor.use_kl_loss=True or algorithm.use_kl_in_reward=True",
    **dict.fromkeys(
        ("rollout_train.kl", "rollout_train.prob_absdiff.mean"),
        "set actor_rollout_ref.rollout.calculate_log_probs=True",
    ),
    **dict.fromkeys(
        ("rollout_train.ratio.mean", "rollout_train.ess"), "set algorithm.rollout_correction.rollout_is=token"
    ),
    "policy.entropy": "logged as actor/entropy from v0.5 on",
    "policy.clip_fraction": "logged as actor/pg_clipfrac",
    **dict.fromkeys(("eval.accuracy", "eval.reward"), "set trainer.test_freq > 0 and data.val_files"),
    "reward.component.<func>.mean": "return a dict from the reward function: its keys are kept in the dump",
    **dict.fromkeys(
        ("reward.zero_std_frac", "reward.group_std"),
        "set trainer.rollout_data_dir: group rewards are read from the dump",
    ),
    "staleness.mean": "logged as training/off_policy/* by the asynchronous trainers",
    "value.explained_variance": "only with a critic (algorithm.adv_estimator=gae)",
    "length.clipped_ratio": "logged as response_length/clip_ratio",
    "memory.gpu": "logged as perf/max_memory_allocated_gb",
}


_BEFORE_0_4 = {"entropy_coef": 0.001, "dual_clip": None}
OLDER = (  # verl/trainer/config/ppo_trainer.yaml at the tags
    Older(
        "0.3", {"": _BEFORE_0_4}, names=("actor/entropy_loss", "actor/pg_clipfrac"), lacks=("actor/pg_clipfrac_lower",)
    ),
    Older("0.3", {"": _BEFORE_0_4}, names=("val/test_score/",)),
    Older("0.3", {"": _BEFORE_0_4 | {"kl_in_reward": True, "kl_coef": 0.001}}, names=("critic/kl_coeff",)),
)


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The advantage estimator; without the configuration, a value loss means PPO."""
    estimator = next((v for k, v in config.items() if k.endswith("algorithm.adv_estimator")), None)
    if estimator:
        text = str(estimator).lower().rpartition(".")[2]
        return {"gae": "ppo", "reinforce_plus_plus": "reinforce++"}.get(text, text)
    if "critic/vf_loss" in names or "critic/vf_explained_var" in names:
        return "ppo"
    return "grpo" if "critic/score/mean" in names else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The KL coefficient counts only where the penalty is switched on, in the loss or in the reward."""

    def option(end: str) -> Any:
        return next((v for k, v in config.items() if k.endswith(end)), None)

    refined: dict[str, Any] = {}
    if option("algorithm.use_kl_in_reward") or "critic/kl_coeff" in names:  # up to 0.3 there was no such option
        coefficient = option("algorithm.kl_ctrl.kl_coef")
        refined |= {"kl_estimator": option("algorithm.kl_penalty")}
        refined |= {} if coefficient is None else {"kl_coef": coefficient}
    elif option("actor.use_kl_loss") is False:
        refined["kl_coef"] = 0.0
    return refined
