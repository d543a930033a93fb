"""ROLL (Alibaba): RLVR (`token/`), agentic (`tokens/`, `rollout/`) and DPO pipelines, with a copy of metrics per domain.

Console lines keep the reduction as an ending: `actor/pg_loss@sum`.
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "ROLL"
WRITES_TEXT = True

MARKS = word_set("""
    actor/ppo_ratio_clipfrac actor/ppo_ratio_high_clipfrac actor/weighted_pg_loss actor/approxkl actor/policykl
    actor/clipfrac actor/train_infer_ratio_<level>_mean actor/train_infer_diff_<level>_mean actor/final_mask_ratio
    actor/samples_used actor/backward_steps critic/raw_advantages/mean critic/reward_clip_frac
    critic/token_reward_clip_frac critic/correct/mean critic/right_response/<path:name>
    critic/score_distribution/<name> critic/entropy/mean critic/ref_log_prob/mean critic/episode_rewards_norm/mean
    token/response_length/mean tokens/response_length/mean group/correct_ratio/mean group/response_length_diff/mean
    val_correct/<domain>/mean system/tps time/step_total time/step_generate mask/final_mask_sum_eq_0 rollout/score/mean
    rollout/non_prompt_length/mean
""")
CONFIG_MARKS = frozenset({"num_return_sequences_in_group", "pg_clip", "async_generation_ratio", "init_kl_coef"})

PREFIXES = {"<domain>/": "@<domain>"}

AXIS = ("step", "system/global_step", "system/step", "global_step", "_step")

_BATCH_BEST = "relative to the best score of the batch: where all are wrong it reads 1"
_ANY_SIGN = "outside the bound whatever the sign of the advantage"
_EXACT_MAX = "the mean leaves out answers at the length limit"

NAMES: dict[str, str | Name] = {
    # rewards
    "critic/score/<stat>": "reward.<stat>",
    "rollout/score/<stat>": "reward.<stat>@rollout",
    "critic/rewards/<stat>": "reward.shaped.<stat>",
    "critic/episode_rewards_norm/<stat>": "reward.episode_norm.<stat>",
    "critic/step_rewards_norm/<stat>": "reward.step_norm.<stat>",
    "critic/reward_clip_frac": "reward.clip_frac",
    "critic/token_reward_clip_frac": "reward.token_clip_frac",
    "critic/correct/mean": Name("reward.accuracy", note=_BATCH_BEST),
    "critic/score_distribution/correct_samples_ratio": Name("reward.at_max_frac", note=_BATCH_BEST),
    "critic/score_distribution/incorrect_samples_ratio": Name("reward.at_min_frac", note="relative to the worst score"),
    "critic/score_distribution/max_value": "reward.max@distribution",
    "critic/score_distribution/min_value": "reward.min@distribution",
    "group/correct_ratio/<stat>": "group.correct_frac.<stat>",
    # advantages and the critic
    "critic/advantages/<stat>": "advantage.<stat>",
    "critic/raw_advantages/<stat>": "advantage.raw.<stat>",
    "critic/right_response/advantages/<stat>": "advantage.right.<stat>",
    "critic/error_response/advantages/<stat>": "advantage.wrong.<stat>",
    "critic/right_response/raw_advantages/<stat>": "advantage.raw.right.<stat>",
    "critic/error_response/raw_advantages/<stat>": "advantage.raw.wrong.<stat>",
    "critic/advantage_clip_frac": "advantage.clip_frac",
    "critic/returns/<stat>": "returns.<stat>",
    "critic/values/<stat>": "value.<stat>",
    "critic/value": "value.old.mean",
    "critic/vpred": "value.mean@update",
    "critic/loss": "value.loss",
    "critic/clipfrac": "value.clip_fraction",
    "critic/error": "value.error",
    "critic/lr": "value.lr",
    # the update
    "actor/pg_loss": "policy.loss",
    "actor/weighted_pg_loss": "policy.loss_weighted",
    "actor/total_loss": "loss.total",
    "actor/kl_loss": Name("kl.ref", note="k3, always computed; in the loss only with use_kl_loss"),
    "critic/kl": Name("kl.ref@penalty", note="k1 by default, of the old policy"),
    "critic/kl_coef": "kl.coef",
    "actor/approxkl": "kl.old.k2",
    "actor/policykl": Name("kl.old.k1", -1.0, "logged as new minus old log-probability"),
    "actor/clipfrac": "policy.clip_fraction",
    "actor/ppo_ratio_clipfrac": Name("policy.ratio_out", note=_ANY_SIGN),
    "actor/ppo_ratio_high_clipfrac": Name("policy.ratio_out.high", note=_ANY_SIGN),
    "actor/ppo_ratio_low_clipfrac": Name("policy.ratio_out.low", note=_ANY_SIGN),
    "actor/ratio_<stat>": "policy.ratio.<stat>",
    "actor/tis_lower_clipfrac": "policy.clip_fraction.tis@lower",
    "actor/tis_upper_clipfrac": "policy.clip_fraction.tis@upper",
    "actor/tis_total_clipfrac": "policy.clip_fraction.tis",
    "actor/tis_clipped_ratio_<stat>": "policy.ratio.clamped.<stat>",
    "critic/entropy/<stat>": Name("policy.entropy.<stat>", note="of the old policy"),
    "critic/ref_log_prob/<stat>": "policy.logp.ref.<stat>",
    "critic/old_log_prob/<stat>": "policy.logp.old.<stat>",
    "actor/lr": "lr",
    "actor/grad_norm": "grad.norm",
    "actor/backward_steps": "progress.backward",
    # preferences
    "actor/loss": "pref.loss",
    "actor/acc": "pref.reward.accuracy",
    "actor/chosen_reward": "pref.reward.chosen",
    "actor/reject_reward": "pref.reward.rejected",
    # samples and masks
    "actor/valid_samples": "samples.valid",
    "actor/total_samples": "samples.step",
    "actor/samples_total": "samples.step",
    "actor/samples_used": "samples.used",
    "actor/valid_sample_ratio": "samples.valid_frac",
    "actor/sample_weights_<stat>": "samples.weight.<stat>",
    "actor/final_mask_ratio": "filter.kept_frac",
    "actor/max_len_mask_ratio": "filter.kept_frac@max_len",
    "actor/difficulty_mask_ratio": "filter.kept_frac@difficulty",
    "actor/error_len_mask_ratio": "filter.kept_frac@error_len",
    "mask/final_mask_sum_eq_0": "filter.empty_batch",
    # trainer against inference engine
    "actor/train_infer_ratio_mean": "rollout_train.ratio.mean",
    "actor/train_infer_ratio_<level>_<stat>": "rollout_train.ratio.<stat>@<level>",
    "actor/train_infer_diff_<level>_<stat>": "rollout_train.prob_diff.<stat>@<level>",
    "actor/train_infer_<level>_ratio_mask_mean": "rollout_train.kept_frac@<level> ratio",
    "actor/train_infer_<level>_diff_mask_mean": "rollout_train.kept_frac@<level> difference",
    "actor/train_infer_final_mask_mean": "rollout_train.kept_frac",
    "actor/is_weight_clipfrac": "rollout_train.ratio_cap_frac",
    # lengths
    "token/response_length/<stat>": "length.<stat>",
    "tokens/response_length/<stat>": "length.<stat>",
    "rollout/response_length/<stat>": "length.<stat>@rollout",
    "token/response_length/diff": "length.range",
    "token/total_response_length/clip": "length.clipped_ratio",
    "token/right_response_length/clip": "length.correct.clipped_ratio",
    "token/right_response_length/<stat>": Name("length.correct.<stat>", note=_EXACT_MAX),
    "token/error_response_length/clip": "length.incorrect.clipped_ratio",
    "token/error_response_length/<stat>": Name("length.incorrect.<stat>", note=_EXACT_MAX),
    "token/prompt_length/<stat>": "length.prompt.<stat>",
    "tokens/prompt_length/<stat>": "length.prompt.<stat>",
    "rollout/prompt_length/<stat>": "length.prompt.<stat>@rollout",
    "token/total_length/<stat>": "length.total.<stat>",
    "tokens/non_prompt_length/<stat>": "length.with_obs.<stat>",
    "rollout/non_prompt_length/<stat>": "length.with_obs.<stat>@rollout",
    "group/response_length_diff/<stat>": "group.length_range.<stat>",
    # evaluation and environments
    "val/score/<stat>": "eval.reward.<stat>",
    "val_correct/<domain>/mean": Name("eval.accuracy@<domain>", note="share with a score of exactly 1"),
    "env/<tag>/<name>": "custom.env.<name>@<tag>",
    # time, throughput, memory
    "time/step_total": "time.step",
    "time/step_generate": "time.rollout",
    "time/step_rollout": "time.rollout",
    "time/step_train": "time.train",
    "time/step_model_update": "time.update_weights",
    "time/old_log_probs": "time.old_logp",
    "time/ref_log_probs_values": "time.ref_logp",
    "time/val_step": "time.eval",
    "time/<phase>": "time.<phase>",
    "system/global_step": "progress.step",
    "system/samples": "progress.samples",
    "system/batch_size": "samples.step@system",
    "system/tps": "throughput.tok_s",
    "system/tps_gpu": "throughput.tok_s_gpu",
    "system/<name>/tps": "throughput.tok_s@<name>",
    "memory/<path:place>": "memory.gpu@<place>",
}

CONFIG = meanings("""
    learning_rate: training_args.learning_rate actor_train.training_args.learning_rate |
    weight_decay: actor_train.training_args.weight_decay | grad_clip: max_grad_norm | clip_range: pg_clip pg_clip_low |
    clip_range_high: pg_clip_high | clip_range_value: value_clip | dual_clip: dual_clip_loss |
    kl_coef: kl_loss_coef init_kl_coef | kl_in_reward: add_token_level_kl | kl_estimator: kl_penalty |
    target_kl: target_kl | entropy_coef: entropy_loss_coef | advantage_estimator: adv_estimator |
    normalize_advantage: whiten_advantages | reward_clip: reward_clip | gamma: gamma | gae_lambda: lambd |
    epochs_per_batch: ppo_epochs | batch_size: rollout_batch_size | group_size: num_return_sequences_in_group |
    max_new_tokens: response_length | max_prompt_tokens: prompt_length |
    temperature: actor_infer.generating_args.temperature | top_p: actor_infer.generating_args.top_p |
    top_k: actor_infer.generating_args.top_k | mask_truncated: max_len_mask | max_staleness: async_generation_ratio |
    is_correction: train_infer_correction | loss_type: loss_agg_mode | importance_level: importance_sampling |
    model: pretrain | total_steps: max_steps | eval_interval: eval_steps | save_interval: save_steps | seed: seed
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        clip_range=0.2 kl_estimator=kl group_size=1 epochs_per_batch=1 max_staleness=0 is_correction=False
    """)
}

LOG = {
    "kl.ref": "logged as actor/kl_loss wherever a reference model is configured",
    "eval.accuracy": "set eval_steps and a validation section",
    "eval.reward": "set eval_steps and a validation section",
    "rollout_train.ratio.mean": "set train_infer_correction",
    "reward.zero_std_frac": "group/correct_ratio shows it; or set rollout_dump_dir",
    "reward.group_std": "set rollout_dump_dir: group rewards are read from the dump",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The advantage estimator; without it, the pipeline's own names."""
    if estimator := config.get("adv_estimator"):
        return {"gae": "ppo"}.get(str(estimator).lower(), str(estimator).lower())
    if "actor/chosen_reward" in names:
        return "dpo"
    return "ppo" if "critic/vpred" in names else None


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The KL coefficient counts only where the penalty is switched on, in the loss or in the reward."""
    if config.get("use_kl_loss"):
        return {"kl_coef": config.get("kl_loss_coef", values.get("kl_coef"))}
    if values.get("kl_in_reward"):
        return {"kl_coef": config.get("init_kl_coef", values.get("kl_coef"))}
    return {"kl_coef": 0.0} if config.get("use_kl_loss") is False else {}
