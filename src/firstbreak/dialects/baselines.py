"""OpenAI Baselines and Stable-Baselines 2: progress.csv, TensorBoard or a table on the console, under one name per method.

Source: baselines/{ppo2,a2c,deepq,ddpg,her,ppo1,trpo_mpi,acer}; stable_baselines/{ppo1,ppo2,a2c,sac,deepq,trpo_mpi}
"""

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name
from firstbreak.dialects._table import meanings, word_set, words

TITLE = "OpenAI Baselines"

MARKS = word_set("""
    eprewmean | eplenmean | eval_eprewmean | ep_reward_mean | ep_rewmean | serial_timesteps | nupdates | approxkl |
    clipfrac | misc/nupdates | misc/serial_timesteps | misc/total_timesteps | misc/explained_variance | loss/approxkl |
    loss/clipfrac | loss/policy_entropy | mean 100 episode reward | % time spent exploring | EpRewMean | EpLenMean |
    EpThisIter | EpisodesSoFar | TimestepsSoFar | ev_tdlam_before | rollout/return_history | rollout/actions_std |
    reference_Q_mean | reference_action_std | train/param_noise_distance | total/steps_per_second | test/mean_Q |
    stats_o/mean | stats_g/mean | loss/approximate_kullback-leibler | loss/clip_factor | input_info/advantage |
    pol_surr | pol_entpen | input_info/discounted_rewards | input_info/old_value_pred | input_info/old_neglog_action_probability
""")

AXIS = (
    *("misc/total_timesteps", "total_timesteps", "total timesteps", "TimestepsSoFar", "total/steps", "steps"),
    *("epoch", "total/epochs"),
)
STEP = "env_steps"

_EPISODES = "mean over the last 100 episodes"
_SINCE_START = "mean over all episodes since the start: moves late"
_KL = Name("kl.old.k2", note="mean over all epochs of the batch")

NAMES: dict[str, str | Name] = {
    # rewards and episodes
    **{
        name: Name("reward.mean", note=_EPISODES)
        for name in ("eprewmean", "ep_reward_mean", "ep_rewmean", "EpRewMean", "rollout/return_history")
    },
    "r": "reward.episode",
    "l": Name("episode.length@single", note="single episodes"),
    "t": Name("time.elapsed@monitor", note="at the end of each episode"),
    "mean 100 episode reward": Name("reward.mean", note=_EPISODES),
    "mean episode reward": Name("reward.mean", note=_EPISODES),
    "mean_episode_reward": Name("reward.mean", note="smoothed over about 100 episodes"),
    "rollout/return": Name("reward.mean@since the start", note=_SINCE_START),
    "rollout/return_std": Name("reward.std@since the start", note=_SINCE_START),
    "rollout/return_history_std": Name("reward.std", note=_EPISODES),
    **{name: Name("episode.length", note=_EPISODES) for name in ("eplenmean", "ep_len_mean", "EpLenMean")},
    "mean_episode_length": Name("episode.length", note="smoothed over about 100 episodes"),
    "rollout/episode_steps": Name("episode.length", note=_SINCE_START),
    "train/success_rate": "success_rate",
    "success rate": "success_rate",
    "eval_eprewmean": "eval.reward",
    "eval_eplenmean": "eval.episode_length",
    "eval/return_history": Name("eval.reward", note=_EPISODES),
    "eval/return": Name("eval.reward@epoch", note="episodes of this epoch"),
    "test/success_rate": "eval.success_rate",
    # the policy
    **dict.fromkeys(words("policy_entropy loss/policy_entropy entropy loss_ent loss/entropy_loss"), "policy.entropy"),
    **dict.fromkeys(("approxkl", "loss/approxkl", "loss/approximate_kullback-leibler"), _KL),
    "meankl": Name("kl.old", note="analytic, after the step"),
    **dict.fromkeys(("loss_kl", "kl"), Name("kl.old", note="analytic, after the last epoch")),
    **dict.fromkeys(("clipfrac", "loss/clipfrac", "loss/clip_factor"), "policy.clip_fraction"),
    "input_info/clip_range": "policy.clip_range",
    "input_info/advantage": "advantage.mean",
    **dict.fromkeys(
        ("loss/policy_loss", "loss_pol_surr", "pol_surr"),
        Name("policy.loss", note="advantages normalised: near 0 by construction"),
    ),
    "loss/policy_gradient_loss": "policy.loss",
    "optimgain": "policy.objective",
    "train/loss_actor": Name("policy.loss", note="minus a Q value: follows the scale of Q, lower is not better"),
    "rollout/actions_std": Name("action.std", note=f"over states and noise, {_SINCE_START}"),
    "% time spent exploring": Name("epsilon", 0.01, "logged in percent"),
    "pol_entpen": Name("entropy.loss", note="minus the coefficient times the entropy"),
    # the critic
    "explained_variance": "value.explained_variance",
    "misc/explained_variance": "value.explained_variance",
    "ev_tdlam_before": Name("value.explained_variance", note="of the TD(lambda) returns, before the update"),
    "loss/value_loss": Name("value.loss", note="half of the squared error"),
    "loss/value_function_loss": Name("value.loss", note="half of the squared error"),
    **dict.fromkeys(("value_loss", "loss_vf_loss", "train/loss_critic", "qf1_loss"), "value.loss"),
    "input_info/old_value_pred": "value.mean",
    "input_info/discounted_rewards": "returns.mean",
    "input_info/rewards": "reward.step.mean",
    "episode_reward": "reward.episode",
    "qf2_loss": "value.loss@q2",
    "reference_Q_mean": Name("value.mean", note="of the same early states all along"),
    "rollout/Q_mean": Name("value.mean@since the start", note=_SINCE_START),
    "test/mean_Q": "value.mean@test",
    "ent_coef": "alpha",
    "ent_coef_loss": "alpha.loss",
    # progress
    **dict.fromkeys(("current_lr", "input_info/learning_rate"), "lr"),
    "gradnorm": "grad.norm",
    "fps": "throughput.fps",
    "total/steps_per_second": Name("throughput.sps", note="since the start"),
    **dict.fromkeys(("time_elapsed", "misc/time_elapsed", "TimeElapsed", "total/duration"), "time.elapsed"),
    **dict.fromkeys(
        words("total_timesteps | total timesteps | misc/total_timesteps | TimestepsSoFar | total/steps | steps"),
        "progress.env_steps",
    ),
    **{name: "progress.episodes" for name in ("episodes", "EpisodesSoFar", "total/episodes", "train/episode")},
    **{name: "progress.updates" for name in ("nupdates", "n_updates", "misc/nupdates")},
    "epoch": "progress.iterations",
    "total/epochs": "progress.iterations",
}

CONFIG = meanings("""
    learning_rate: lr _pi_lr | value_learning_rate: _Q_lr | gamma: gamma | gae_lambda: lam | entropy_coef: ent_coef |
    value_coef: vf_coef | clip_range: cliprange | n_steps: nsteps | minibatches: nminibatches |
    epochs_per_batch: noptepochs | grad_clip: max_grad_norm | buffer_size: buffer_size | minibatch_size: batch_size |
    total_steps: num_timesteps total_timesteps | env_id: env env_name | seed: seed
""")

LOG = {
    "reward.mean": "wrap the environment in Monitor: the mean of its episodes is logged as eprewmean",
    "eval.reward": "pass eval_env to learn()",
    "kl.old": "logged by ppo2 as loss/approxkl",
    "policy.entropy": "logged by ppo2 as loss/policy_entropy",
    "value.explained_variance": "logged by ppo2 as misc/explained_variance",
}


def context(names: Set[str]) -> dict[str, str | Name]:
    """Imitation is judged by the environment's own reward, not by the discriminator's; other methods than ppo2 use its names."""
    if "loss/clip_factor" in names and "input_info/old_value_pred" not in names:  # ppo1: times a coefficient; the range
        other = {"loss/entropy_loss": "custom.loss/entropy_loss", "loss/clip_factor": "custom.loss/clip_factor"}
        return {**other, "loss/approximate_kullback-leibler": "kl.old"}
    if "input_info/kl_clip_range" in names:  # trpo: gains of the policy
        other = {"loss/policy_gradient_loss": "policy.objective", "loss/approximate_kullback-leibler": "kl.old"}
        return {**other, "loss/value_function_loss": "custom.loss/value_function_loss"}
    if "EpTrueRewMean" not in names:
        return {}
    return {
        "EpTrueRewMean": Name("reward.mean", note=f"the environment's own, {_EPISODES}"),
        "EpRewMean": Name("reward.shaped.mean", note=f"of the discriminator, {_EPISODES}"),
    }


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """From what only one method logs; hindsight replay is DDPG."""
    for method, own in (
        ("ppo", {"loss/approxkl", "approxkl", "loss_pol_surr", "pol_surr", "loss/clip_factor"}),
        ("trpo", {"meankl", "optimgain", "input_info/kl_clip_range"}),
        ("dqn", {"% time spent exploring"}),
        ("sac", {"ent_coef"}),
        ("ddpg", {"reference_Q_mean", "rollout/Q_mean", "train/param_noise_distance", "test/mean_Q", "stats_o/mean"}),
        ("td3", {"qf1_loss"}),
        ("a2c", {"nupdates", "policy_entropy"}),
    ):
        if names & own:
            return method
    return None
