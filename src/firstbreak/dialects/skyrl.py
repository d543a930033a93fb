"""SkyRL (NovaSky): one metrics backend per run; names before v0.2 where they differ."""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, options, word_set

TITLE = "SkyRL"
WRITES_TEXT = True

MARKS = word_set("""
    reward/avg_raw_reward reward/avg_pass_at_<int:n> reward/mean_positive_reward loss/avg_final_rewards
    loss/avg_raw_advantages policy/final_loss policy/policy_entropy policy/policy_lr policy/loss_metrics/clip_ratio
    policy/ppo_clip_ratio policy/raw_grad_norm policy/policy_update_steps policy/rollout_train_logprobs_abs_diff_mean
    policy/rollout_train_prob_diff_mean generate/avg_num_tokens generate/std_num_tokens generate/batch_num_seq
    async/staleness_mean timing/fwd_logprobs_values_reward timing/convert_to_training_input eval/<source>/avg_score
    trainer/global_step avg_final_rewards
""")
CONFIG_MARKS = frozenset(
    {"generator.n_samples_per_prompt", "trainer.policy_mini_batch_size", "trainer.algorithm.advantage_estimator"}
)

AXIS = ("trainer/global_step", "step", "_step")

_OBSERVED = "tool and observation tokens included"
_MASKED = "masked samples count as 0, so the smallest is usually 0"

NAMES: dict[str, str | Name] = {
    "trainer/global_step": "progress.step",
    "trainer/epoch": "progress.epoch",
    "policy/policy_update_steps": "progress.updates",
    # rewards
    "reward/avg_raw_reward": "reward.mean",
    "reward/avg_pass_at_<int:n>": Name("reward.pass_at_k@<n>", note="any reward above 0"),
    "reward/mean_positive_reward": "reward.positive.mean",
    "reward/num_zero_variance_filtered": "filter.zero_std_dropped",
    "loss/avg_final_rewards": "reward.shaped.mean",
    "avg_final_rewards": "reward.shaped.mean",
    "loss/avg_raw_advantages": Name("advantage.mean", note="before normalisation over the batch"),
    "loss/avg_raw_advantages_abs": "advantage.abs.mean",
    # divergences and the update
    "loss/avg_kl": Name("kl.ref", note="k3 of the old policy, in the reward"),
    "loss/avg_kl_max": Name("kl.ref.max", note="mean over sequences of the largest"),
    "loss/kl_loss_coef": "kl.coef",
    "policy/policy_kl": Name("kl.ref", note="k3 by default, clamped"),
    "policy/final_loss": "loss.total",
    "policy/policy_loss": "policy.loss",
    "policy/policy_entropy": "policy.entropy",
    "policy/policy_lr": "lr",
    "policy/grad_norm": Name("grad.norm", note="mean over minibatches"),
    "policy/raw_grad_norm": "grad.norm",
    "policy/loss_metrics/clip_ratio": Name(
        "policy.clip_fraction", note="depends on the loss; always 0 for sapo and kl_cov"
    ),
    "policy/ppo_clip_ratio": "policy.clip_fraction",
    "policy/loss_metrics/cispo/ratio_<stat>": "policy.ratio.<stat>",
    "policy/loss_metrics/cispo/ratio_clamped_<stat>": "policy.ratio.clamped.<stat>",
    "policy/response_length": Name("length.padded", note="padded width, not a mean length"),
    # trainer against inference engine
    "policy/loss_metrics/is_ratio_<stat>": Name("rollout_train.ratio.<stat>", note=_MASKED),
    "policy/loss_metrics/tis_token_clip_high_ratio": "rollout_train.ratio_cap_frac.token",
    "policy/loss_metrics/tis_seq_clip_high_ratio": "rollout_train.ratio_cap_frac.seq",
    "policy/loss_metrics/outlier_seq_<rest>": "rollout_train.masked_seq_frac@outlier <rest>",
    "policy/loss_metrics/outlier_seq_masked_ratio": "rollout_train.masked_seq_frac@outlier",
    "policy/loss_metrics/geo_sequence_mask_<rest>": "rollout_train.masked_seq_frac@geo <rest>",
    "policy/loss_metrics/geo_sequence_mask_masked_ratio": "rollout_train.masked_seq_frac@geo",
    "policy/loss_metrics/product_sequence_mask_<rest>": "rollout_train.masked_seq_frac@product <rest>",
    "policy/loss_metrics/product_sequence_mask_masked_ratio": "rollout_train.masked_seq_frac@product",
    "policy/rollout_train_logprobs_abs_diff_<stat>": "rollout_train.logp_absdiff.<stat>",
    "policy/rollout_train_prob_diff_<stat>": Name("rollout_train.prob_absdiff.<stat>", note="of probabilities"),
    "policy/minibatch_rollout_logprobs_abs_diff_<stat>": Name(
        "behave.logp_absdiff.<stat>", note="drift of the update included"
    ),
    # the critic
    "critic/critic_loss": "value.loss",
    "critic/values_<stat>": "value.<stat>",
    "critic/values_clipfrac": "value.clip_fraction",
    "critic/critic_lr": "value.lr",
    "critic/grad_norm": "value.grad_norm",
    # generation
    "generate/<stat>_num_tokens": Name("length.<stat>", note=_OBSERVED),
    "avg_response_length": Name("length.mean", note=_OBSERVED),
    "generate/<stat>_assistant_tokens": "length.assistant.<stat>",
    "generate/avg_tokens_non_zero_rewards": Name("length.correct.mean", note="reward above 0"),
    "generate/avg_tokens_zero_rewards": Name("length.incorrect.mean", note="reward of 0"),
    "generate/tokens_per_turn_<stat>": "turns.tokens.<stat>",
    "generate/trajectory_time_<part>_<stat>": "time.rollout.<stat>@<part>",
    "generate/batch_num_seq": "samples.step",
    "generate/batch_padded_seq_len": "samples.padded_len",
    "environment/<path:name>": "custom.<name>",
    # freshness
    "async/staleness_<stat>": "staleness.<stat>",
    "async/staleness_ratio": "staleness.stale_frac",
    "async/staleness_violation_count": "staleness.violations",
    "async/num_groups_dropped": "filter.dropped",
    "async/keep_rate": "filter.kept_frac",
    "async/gen_buffer_qsize_at_wait_start": "filter.buffer",
    # evaluation
    "eval/<source>/avg_score": "eval.reward@<source>",
    "eval/<source>/pass_at_<int:n>": "eval.pass_at_k@<source> <n>",
    "eval/<source>/mean_positive_reward": "eval.reward.positive.mean@<source>",
    # time and throughput
    "timing/step": "time.step",
    "timing/generate": "time.rollout",
    "timing/convert_to_training_input": "time.prep",
    "timing/fwd_logprobs_values_reward": "time.logprobs",
    "timing/compute_advantages_and_returns": "time.advantage",
    "timing/train_critic_and_policy": "time.train",
    "timing/policy_train": "time.train_policy",
    "timing/critic_train": "time.train_critic",
    "timing/sync_weights": "time.update_weights",
    "timing/eval": "time.eval",
    "timing/save_checkpoints": "time.save",
    "timing/<phase>": "time.<phase>",
    "trainer/tokens_per_second_per_gpu": "throughput.tok_s_gpu",
}

CONFIG = meanings("""
    learning_rate: trainer.policy.optimizer_config.lr | value_learning_rate: trainer.critic.optimizer_config.lr |
    grad_clip: trainer.policy.optimizer_config.max_grad_norm |
    weight_decay: trainer.policy.optimizer_config.weight_decay | clip_range: trainer.algorithm.eps_clip_low |
    clip_range_high: trainer.algorithm.eps_clip_high | dual_clip: trainer.algorithm.clip_ratio_c |
    clip_range_value: trainer.algorithm.value_clip | kl_coef: trainer.algorithm.kl_loss_coef |
    kl_estimator: trainer.algorithm.kl_estimator_type | kl_in_reward: trainer.algorithm.use_kl_in_reward |
    entropy_coef: trainer.algorithm.entropy_loss_coef | advantage_estimator: trainer.algorithm.advantage_estimator |
    normalize_advantage: trainer.algorithm.advantage_batch_normalize |
    scale_rewards: trainer.algorithm.grpo_norm_by_std | loss_type: trainer.algorithm.loss_reduction |
    gamma: trainer.algorithm.gamma | gae_lambda: trainer.algorithm.lambd |
    dynamic_sampling: trainer.algorithm.zero_variance_filter |
    is_correction: trainer.algorithm.off_policy_correction.tis_ratio_type trainer.algorithm.use_tis |
    epochs_per_batch: trainer.update_epochs_per_batch | minibatch_size: trainer.policy_mini_batch_size |
    batch_size: trainer.train_batch_size | max_staleness: trainer.fully_async.max_staleness_steps |
    max_prompt_tokens: trainer.max_prompt_length | total_epochs: trainer.epochs |
    eval_interval: trainer.eval_interval | eval_on_start: trainer.eval_before_train | dataset: data.train_data |
    eval_dataset: data.val_data | save_interval: trainer.ckpt_interval | model: trainer.policy.model.path |
    seed: trainer.seed | group_size: generator.n_samples_per_prompt |
    max_new_tokens: generator.sampling_params.max_generate_length |
    temperature: generator.sampling_params.temperature | top_p: generator.sampling_params.top_p |
    eval_temperature: generator.eval_sampling_params.temperature | max_turns: generator.max_turns |
    mask_truncated: generator.apply_overlong_filtering | env_id: environment.env_class
""")

DEFAULTS: dict[str, dict[str, Any]] = {
    "": options("""
        learning_rate=1e-6 value_learning_rate=5e-6 clip_range=0.2 clip_range_high=0.2 kl_coef=0.001 kl_estimator=k3
        kl_in_reward=False group_size=5 epochs_per_batch=1 minibatch_size=256 batch_size=1024 max_new_tokens=1024
        temperature=1.0 dynamic_sampling=False is_correction=False max_staleness=4 advantage_estimator=grpo
    """)
}

LOG = {
    "kl.ref": "set trainer.algorithm.use_kl_loss=true or use_kl_in_reward=true",
    **dict.fromkeys(("eval.reward", "eval.accuracy"), "set trainer.eval_interval > 0 and data.val_data"),
    "rollout_train.logp_absdiff.mean": "set generator.sampling_params.logprobs=0",
    "staleness.mean": "logged as async/* by the fully asynchronous trainer",
    "length.clipped_ratio": "read from the stop reasons in dumped_evals",
    "reward.component.<func>.mean": "return the parts as environment metrics",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The advantage estimator; a critic means PPO."""
    if estimator := config.get("trainer.algorithm.advantage_estimator"):
        return {"gae": "ppo"}.get(str(estimator).lower(), str(estimator).lower())
    return "ppo" if "critic/critic_loss" in names else "grpo"


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """The KL coefficient counts only where the penalty is switched on."""
    off = config.get("trainer.algorithm.use_kl_loss") is False and not values.get("kl_in_reward")
    return {"kl_coef": 0.0} if off else {}
