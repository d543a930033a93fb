"""Plain names that people give by hand: `reward`, `Average Return`, `val_em`, `approx_kl`, `Loss/policy`.

Case and separators are ignored, and so are words that say only where a number was made (`train`, `charts`, `metrics`);
`eval`, `val` and `test` turn a name into its counterpart on held-out data. Used where no trainer was recognised, and for
the names that the recognised trainer does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects._table import Name
from firstbreak.signals import evaluation

TITLE = "plain names"

MARKS: frozenset[str] = frozenset()

AXIS = (
    "step",
    "Step",
    "steps",
    "_step",
    "global_step",
    "global_steps",
    "total_steps",
    "training_step",
    "train_step",
    "train/global_step",
    "timestep",
    "timesteps",
    "total_timesteps",
    "env_steps",
    "env_step",
    "num_env_steps",
    "frames",
    "frame",
    "iteration",
    "Iteration",
    "iterations",
    "iter",
    "training_iteration",
    "update",
    "updates",
    "num_updates",
    "episode",
    "Episode",
    "episodes",
    "epoch",
    "Epoch",
)

# Keys are lower case with "_" between words.
_GROUPS: Mapping[str, str] = {
    "reward.mean": "reward rewards mean_reward avg_reward average_reward reward_mean reward_avg score scores mean_score"
    " average_score score_mean total_reward return returns mean_return avg_return average_return return_mean ep_return"
    " ep_ret episode_return episodic_return episode_returns episode_reward episodic_reward episode_rewards ep_reward"
    " ep_rew_mean ep_rew episode_reward_mean episode_return_mean mean_episode_reward mean_episode_return"
    " average_episode_reward average_episode_return avg_episode_reward cumulative_reward raw_reward task_reward"
    " averageepret average_ep_ret averagereturn r rew mean_rew",
    "reward.std": "reward_std std_reward return_std std_return rewards_std score_std stdepret",
    "reward.min": "reward_min min_reward return_min min_return",
    "reward.max": "reward_max max_reward return_max max_return",
    "reward.group_std": "group_std group_reward_std reward_group_std within_group_std",
    "reward.zero_std_frac": "frac_reward_zero_std zero_std_frac frac_zero_std zero_variance_frac zero_std_groups",
    "reward.shaped.mean": "shaped_reward reward_shaped",
    "reward.accuracy": "acc accuracy correct correct_rate correctness solve_rate exact_match em pass_rate",
    "reward.pass_at_k": "pass_at_k pass_k",
    "success_rate": "success_rate success win_rate winrate success_ratio mean_success is_success",
    "reward.kl_penalty": "kl_reward kl_penalty_reward non_score_reward",
    "episode.length": "episode_length episodic_length ep_len ep_length ep_len_mean episode_len episode_len_mean"
    " mean_episode_length average_episode_length avg_episode_length average_ep_len eplen episode_lengths",
    "length.mean": "completion_length response_length mean_response_length mean_completion_length avg_response_length"
    " avg_completion_length generation_length gen_len mean_length avg_length response_len completion_len response_tokens"
    " num_generated_tokens output_length mean_output_length",
    "length.max": "max_completion_length_seen max_response_length_seen",
    "length.clipped_ratio": "clipped_ratio truncated_ratio truncation_rate truncated truncated_frac truncation_ratio"
    " frac_truncated overlong_ratio",
    "length.prompt.mean": "prompt_length prompt_len mean_prompt_length",
    "turns.mean": "num_turns turns mean_turns avg_turns",
    "kl.ref": "kl_ref ref_kl kl_to_ref kl_with_ref reference_kl kl_reference kl_from_ref kl_div_ref kl_base kl_init mean_kl_ref",
    "kl.old": "approx_kl approxkl kl_old old_kl ppo_kl kl_update policy_kl mean_kl_old kl_new_old",
    "kl.coef": "kl_coef kl_coeff kl_beta kl_weight kl_ctl",
    "kl.loss": "kl_penalty_loss",
    "loss.total": "loss total_loss loss_total training_loss train_loss",
    "policy.loss": "policy_loss pg_loss actor_loss loss_policy loss_pi loss_actor pi_loss policy_gradient_loss"
    " surrogate_loss action_loss lossPi",
    "value.loss": "value_loss critic_loss vf_loss loss_value loss_critic loss_vf v_loss q_loss qf_loss td_loss loss_v loss_q"
    " value_function_loss qf1_loss critic1_loss",
    "value.mean": "value values mean_value q_value q_values mean_q avg_q q_mean average_q value_mean vpred qf1_values",
    "value.target.mean": "target_q q_target value_target",
    "value.explained_variance": "explained_variance explained_var vf_explained_var ev exp_var",
    "value.clip_fraction": "value_clip_fraction vf_clipfrac value_clipfrac",
    "value.grad_norm": "critic_grad_norm value_grad_norm",
    "td_error": "td_error td_err mean_td_error",
    "advantage.mean": "advantage advantages advantage_mean mean_advantage adv adv_mean advantages_mean",
    "advantage.std": "advantage_std adv_std std_advantage advantages_std",
    "advantage.max": "advantage_max adv_max advantages_max",
    "policy.entropy": "entropy policy_entropy mean_entropy entropy_mean avg_entropy token_entropy action_entropy",
    "policy.clip_fraction": "clip_fraction clipfrac clip_frac clip_ratio pg_clipfrac fraction_clipped clipped_fraction",
    "policy.ratio.mean": "ratio ratio_mean mean_ratio importance_ratio prob_ratio",
    "policy.ratio.max": "ratio_max max_ratio",
    "policy.ratio.min": "ratio_min min_ratio",
    "policy.clip_range": "clip_range clip_epsilon",
    "entropy.coef": "entropy_coef ent_coef entropy_coeff",
    "alpha": "alpha temperature_alpha sac_alpha",
    "alpha.loss": "alpha_loss ent_coef_loss",
    "epsilon": "epsilon eps exploration_rate exploration_epsilon",
    "action.std": "action_std policy_std std_action",
    "grad.norm": "grad_norm gradient_norm gradnorm global_norm grad_global_norm total_norm actor_grad_norm policy_grad_norm"
    " grad_gnorm",
    "lr": "lr learning_rate learningrate cur_lr current_lr actor_lr policy_lr",
    "value.lr": "critic_lr value_lr",
    "pref.reward.chosen": "chosen_reward reward_chosen chosen_rewards rewards_chosen",
    "pref.reward.rejected": "rejected_reward reward_rejected rejected_rewards rewards_rejected",
    "pref.reward.margin": "reward_margin rewards_margin margins rewards_margins preference_margin",
    "pref.reward.accuracy": "reward_accuracy preference_accuracy rewards_accuracies reward_accuracies",
    "staleness.mean": "staleness mean_staleness avg_staleness off_policy_steps policy_lag",
    "staleness.max": "max_staleness_seen staleness_max",
    "rollout_train.kl": "mismatch_kl rollout_kl vllm_kl kl_rollout_train",
    "rollout_train.ratio.mean": "is_ratio importance_weight importance_weights tis_weight",
    "throughput.sps": "sps steps_per_second steps_per_sec env_steps_per_second",
    "throughput.fps": "fps frames_per_second",
    "throughput.tok_s": "tokens_per_second tokens_per_sec tok_s tps throughput",
    "time.step": "step_time time_per_step iteration_time iter_time seconds_per_step",
    "time.elapsed": "time_elapsed elapsed elapsed_time wall_time walltime time_total_s total_time",
    "memory.gpu": "gpu_memory gpu_mem gpu_memory_gb memory_allocated_gb",
    "memory.gpu_reserved": "memory_reserved_gb gpu_memory_reserved",
    "tokens.total": "num_tokens total_tokens tokens",
    "progress.step": "step steps global_step global_steps training_step",
    "progress.env_steps": "timestep timesteps total_timesteps env_steps env_step total_env_steps num_env_steps frames"
    " num_frames total_frames",
    "progress.iterations": "iteration iterations training_iteration",
    "progress.episodes": "episode episodes num_episodes episodes_total",
    "progress.epoch": "epoch epochs",
    "progress.updates": "updates num_updates n_updates",
    "diversity.distinct": "distinct unique_outputs distinct_frac unique_frac distinct_outputs unique_completions",
    "diversity.self_bleu": "self_bleu",
}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MEANINGS = {word: signal for signal, words in _GROUPS.items() for word in words.split()}
_FLIPPED = {
    "neg_entropy": Name("policy.entropy", -1.0, "logged as minus the entropy"),
    "negative_entropy": Name("policy.entropy", -1.0, "logged as minus the entropy"),
}

# Words with two common meanings: used where no trainer was recognised, left alone beside a trainer's own names.
_GUESSES = {
    "kl": Name("kl.ref", note="plain `kl`: taken for the divergence from the reference model"),
    "mean_kl": Name("kl.ref", note="plain `kl`: taken for the divergence from the reference model"),
    "kl_mean": Name("kl.ref", note="plain `kl`: taken for the divergence from the reference model"),
    "kl_div": Name("kl.ref", note="plain `kl`: taken for the divergence from the reference model"),
    "kl_divergence": Name("kl.ref", note="plain `kl`: taken for the divergence from the reference model"),
    "kl_loss": Name("kl.ref", note="may hold its coefficient"),
    "kl_penalty": Name("kl.ref", note="may hold its coefficient"),
}
_AMBIGUOUS = _GUESSES.keys() | _set(
    "r return returns value values ratio correct success score scores eps alpha ev tokens truncated turns updates"
    " clip_ratio policy_kl total_reward reward_margin throughput"
)

# A negative entropy hides behind this name in some trainers and a positive one in others.
NOT_CONVERTED = {
    "entropy_loss": "minus the entropy in one trainer, plus the entropy in another, times a coefficient in a third",
    "ent_loss": "minus the entropy in one trainer, plus the entropy in another, times a coefficient in a third",
    "loss_entropy": "minus the entropy in one trainer, plus the entropy in another, times a coefficient in a third",
}

_PLACES = _set("train training charts chart metrics metric rollout rollouts losses loss stats info actor agent global")
_HELD_OUT = _set("eval evaluation val valid validation test heldout")


def translate(raw: str) -> Name | None:
    """What a plain name means, or None."""
    words = _words(raw)
    held_out = bool(words) and (words[0] in _HELD_OUT or words[-1] in _HELD_OUT)
    words = [word for i, word in enumerate(words) if not (i in (0, len(words) - 1) and word in _HELD_OUT)]
    if len(words) > 1 and words[-1] == "train":  # `loss/train`
        words = words[:-1]
    for start in range(len(words)):
        key = "_".join(words[start:])
        if name := _meaning(key):
            return Name(evaluation(name.signal), name.scale, name.note) if held_out else name
        if words[start] not in _PLACES:
            return None
    return None


def ambiguous(raw: str) -> bool:
    """Whether a plain name has two common meanings, so that it says nothing beside the names of a known trainer."""
    words = _words(raw)
    while len(words) > 1 and words[0] in _PLACES | _HELD_OUT:
        words = words[1:]
    return "_".join(words) in _AMBIGUOUS


def _meaning(key: str) -> Name | None:
    if key in _MEANINGS:
        return Name(_MEANINGS[key])
    return _FLIPPED.get(key) or _GUESSES.get(key)


def _words(raw: str) -> list[str]:
    split = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", raw)  # `meanReward` is `mean reward`
    return [word for word in re.split(r"[\W_]+", split.lower()) if word]


CONFIG = {
    "learning_rate": "learning_rate",
    "lr": "learning_rate",
    "max_grad_norm": "grad_clip",
    "grad_clip": "grad_clip",
    "kl_coef": "kl_coef",
    "beta": "kl_coef",
    "clip_range": "clip_range",
    "clip_coef": "clip_range",
    "clip_eps": "clip_range",
    "epsilon": "clip_range",
    "group_size": "group_size",
    "num_generations": "group_size",
    "batch_size": "batch_size",
    "minibatch_size": "minibatch_size",
    "epochs": "epochs_per_batch",
    "max_new_tokens": "max_new_tokens",
    "max_completion_length": "max_new_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "ent_coef": "entropy_coef",
    "entropy_coef": "entropy_coef",
    "gamma": "gamma",
    "gae_lambda": "gae_lambda",
    "buffer_size": "buffer_size",
    "n_envs": "n_envs",
    "num_envs": "n_envs",
    "n_steps": "n_steps",
    "num_steps": "n_steps",
    "total_timesteps": "total_steps",
    "max_steps": "total_steps",
    "env_id": "env_id",
    "env": "env_id",
    "model": "model",
    "model_name": "model",
    "seed": "seed",
}

LOG = {
    "reward.mean": "log the mean reward of each batch as `reward`",
    "kl.ref": "log the divergence from the reference model as `kl_ref`",
    "kl.old": "log the divergence from the old policy as `approx_kl`",
    "policy.entropy": "log the mean entropy as `entropy`",
    "grad.norm": "log what clip_grad_norm_ returns as `grad_norm`",
    "eval.reward": "log an evaluation as `eval/reward`",
    "eval.accuracy": "log an evaluation as `eval/accuracy`",
    "length.mean": "log the mean completion length as `response_length`",
    "length.clipped_ratio": "log the share of truncated completions as `truncated_ratio`",
    "value.explained_variance": "log 1 - Var(return - value) / Var(return) as `explained_variance`",
}

_ALGORITHMS = (
    *("grpo", "rloo", "dapo", "gspo", "ppo", "a2c", "a3c", "trpo", "dqn", "sac", "td3", "ddpg", "tqc"),
    *("dpo", "kto", "reinforce", "impala"),
)


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """Where the configuration says it."""
    for key in ("algorithm", "algo", "algo_name", "agent", "trainer", "method"):
        text = str(config.get(key, "")).lower()
        found = next((a for a in _ALGORITHMS if re.search(rf"(?<![a-z]){a}(?![a-z])", text.replace("_", " "))), None)
        if found:
            return found
    return None
