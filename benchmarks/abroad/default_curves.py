"""What public trainers log by default: the trainer's own name -> the signals of the lab that hold it, the best first.

`a+b` is the sum of two signals.

"By default" means: with the options as they are shipped, a reference model where the run has one, and no callback, recorder
or extra flag. An evaluation is logged once somebody turns it on, and has its own list. A name that none of a run's curves
can fill is missing in that run. The names are those of trl 1.9 and verl 0.9 (grpo_trainer.py, ppo_trainer.py,
metric_utils.py), AReaL 1.0 (areal/trainer/ppo), Stable-Baselines3 2.8 (on_policy_algorithm.py, ppo.py, a2c.py, dqn.py,
sac.py) and CleanRL (ppo.py, dqn.py, sac_continuous_action.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from firstbreak.model import EMPTY

Names = Mapping[str, tuple[str, ...]]


def names(text: str) -> Names:
    """One name a line, and the signals that can fill it."""
    return {name: tuple(signals) for name, *signals in filter(None, map(str.split, text.splitlines()))}


@dataclass(frozen=True, kw_only=True)
class PublicTrainer:
    """A public trainer's log, as it is without further options."""

    dialect: str
    axis: str  #: what it calls the step
    curves: Names
    evaluation: Names = field(default_factory=lambda: EMPTY)  #: logged as well where an evaluation is turned on
    penalised: frozenset[str] = frozenset()  #: names that are logged only with a penalty for leaving the reference


TRL_GRPO = PublicTrainer(
    dialect="trl",
    axis="step",
    curves=names(
        """
        loss                                loss.total policy.loss
        grad_norm                           grad.norm
        learning_rate                       lr
        reward                              reward.mean
        reward_std                          reward.std reward.group_std
        frac_reward_zero_std                reward.zero_std_frac
        rewards/accuracy/mean               reward.component.accuracy.mean
        rewards/reward_model/mean           reward.component.reward_model.mean
        rewards/format/mean                 reward.component.format.mean
        rewards/thoroughness/mean           reward.component.thoroughness.mean
        rewards/accuracy/std                reward.component.accuracy.std
        completions/mean_length             length.mean
        completions/min_length              length.min
        completions/max_length              length.max
        completions/clipped_ratio           length.clipped_ratio
        completions/mean_terminated_length  length.terminated_mean
        completions/min_terminated_length   length.terminated_min
        completions/max_terminated_length   length.terminated_max
        entropy                             policy.entropy
        kl                                  kl.ref kl.ref.k3
        clip_ratio/region_mean              policy.clip_fraction
        clip_ratio/low_mean                 policy.clip_fraction.low
        clip_ratio/low_min                  policy.clip_fraction.low.min
        clip_ratio/high_mean                policy.clip_fraction.high
        clip_ratio/high_max                 policy.clip_fraction.high.max
        num_tokens                          tokens.total
        step_time                           time.step time.rollout+time.train+time.update_weights
        """
    ),
    evaluation=names(
        """
        eval_reward                         eval.reward
        eval_rewards/accuracy/mean          eval.reward.component.accuracy.mean eval.accuracy
        eval_completions/mean_length        eval.length.mean
        eval_completions/clipped_ratio      eval.length.clipped_ratio
        eval_entropy                        eval.policy.entropy
        eval_kl                             eval.kl.ref
        eval_loss                           eval.loss
        eval_runtime                        time.eval
        """
    ),
    penalised=frozenset({"kl", "eval_kl"}),
)

#: objective/kl, a sum over the completion, is recorded by no run of the lab
TRL_PPO = PublicTrainer(
    dialect="trl",
    axis="step",
    curves=names(
        """
        objective/scores            reward.mean
        objective/non_score_reward  reward.kl_penalty
        policy/approxkl_avg         kl.old.k3
        policy/clipfrac_avg         policy.clip_fraction
        policy/entropy_avg          policy.entropy
        loss/policy_avg             policy.loss
        loss/value_avg              value.loss
        val/ratio                   policy.ratio.mean
        lr                          lr
        """
    ),
)

_VERL = """
    critic/score/mean           reward.mean
    critic/score/max            reward.max
    critic/score/min            reward.min
    critic/advantages/mean      advantage.mean
    critic/advantages/max       advantage.max
    critic/advantages/min       advantage.min
    actor/pg_loss               policy.loss
    actor/pg_clipfrac           policy.clip_fraction
    actor/ppo_kl                kl.old.k1
    actor/entropy               policy.entropy
    actor/grad_norm             grad.norm
    actor/lr                    lr
    response_length/mean        length.mean
    response_length/clip_ratio  length.clipped_ratio
    timing_s/step               time.rollout+time.train+time.update_weights
    timing_s/gen                time.rollout
    timing_s/update_actor       time.train
    timing_s/update_weights     time.update_weights
    """
_VERL_EVALUATION = names("val-core/task/acc/mean@1 eval.accuracy")

VERL_GRPO = PublicTrainer(
    dialect="verl",
    axis="step",
    curves=names(_VERL + "actor/kl_loss kl.ref.k3\n num_turns/mean turns.mean"),
    evaluation=_VERL_EVALUATION,
    penalised=frozenset({"actor/kl_loss"}),
)
VERL_PPO = PublicTrainer(
    dialect="verl",
    axis="step",
    curves=names(
        _VERL
        + """
        actor/reward_kl_penalty   kl.ref.k1
        critic/values/mean        value.old.mean
        critic/returns/mean       value.target.mean
        critic/vf_loss            value.loss
        critic/vf_explained_var   value.explained_variance
        critic/grad_norm          value.grad_norm
        critic/lr                 value.lr
        """
    ),
    evaluation=_VERL_EVALUATION,
    penalised=frozenset({"actor/reward_kl_penalty"}),
)

#: without rejection sampling: no behave_imp_weight
AREAL = PublicTrainer(
    dialect="areal",
    axis="step",
    curves=names(
        """
        rollout/reward                                              reward.rollout.mean
        rollout/num_turns                                           turns.mean
        ppo_actor/task_reward/avg                                   reward.mean
        ppo_actor/task_reward/min                                   reward.min
        ppo_actor/task_reward/max                                   reward.max
        ppo_actor/kl_rewards/avg                                    reward.kl_penalty
        ppo_actor/advantages/avg                                    advantage.mean
        ppo_actor/advantages/min                                    advantage.min
        ppo_actor/advantages/max                                    advantage.max
        ppo_actor/no_eos_ratios/avg                                 length.clipped_ratio
        ppo_actor/seq_len/avg                                       length.total.mean
        ppo_actor/seq_len/min                                       length.total.min
        ppo_actor/seq_len/max                                       length.total.max
        ppo_actor/correct_seq_len/avg                               length.correct.mean
        ppo_actor/incorrect_seq_len/avg                             length.incorrect.mean
        ppo_actor/update/importance_weight/avg                      policy.ratio.mean
        ppo_actor/update/importance_weight/min                      policy.ratio.min
        ppo_actor/update/importance_weight/max                      policy.ratio.max
        ppo_actor/update/approx_kl/avg                              kl.old.k1
        ppo_actor/update/clip_ratio/avg                             policy.clip_fraction
        ppo_actor/update/entropy/avg                                policy.entropy
        ppo_actor/update/new_logp/avg                               policy.logp.mean
        ppo_actor/update/logp_diff/avg                              behave.kl.k1
        ppo_actor/update/actor_loss/avg                             policy.loss
        ppo_actor/update/grad_norm                                  grad.norm
        ppo_actor/update/update_successful                          optim.update_ok
        ppo_actor/update/lr                                         lr
        ppo_actor/update/version_stats/sample_staleness_theta_avg   staleness.mean
        ppo_actor/update/version_stats/sample_staleness_theta_max   staleness.max
        ppo_critic/critic_loss/avg                                  value.loss
        ppo_critic/old_value/avg                                    value.old.mean
        ppo_critic/target_value/avg                                 value.target.mean
        ppo_critic/grad_norm                                        value.grad_norm
        ppo_critic/lr                                               value.lr
        ppo_critic/update_successful                                value.update_ok
        timeperf/rollout                                            time.rollout
        timeperf/train_step                                         time.train
        timeperf/update_weights                                     time.update_weights
        """
    ),
    evaluation=names("eval-rollout/reward eval.reward\n timeperf/eval time.eval"),
)

#: without a Monitor file. Its logger's own curves alone: `rollout/` and `train/`
SB3 = PublicTrainer(
    dialect="sb3",
    axis="time/total_timesteps",
    curves=names(
        """
        rollout/ep_rew_mean         reward.mean
        rollout/ep_len_mean         episode.length
        rollout/exploration_rate    epsilon
        time/fps                    throughput.fps
        train/approx_kl             kl.old.k3
        train/clip_fraction         policy.clip_fraction
        train/clip_range            policy.clip_range
        train/entropy_loss          policy.entropy
        train/explained_variance    value.explained_variance
        train/learning_rate         lr
        train/loss                  loss.total
        train/n_updates             progress.updates
        train/policy_gradient_loss  policy.loss
        train/value_loss            value.loss
        """
    ),
    evaluation=names("eval/mean_reward eval.reward\n eval/mean_ep_length eval.episode_length"),
)
SB3_A2C = PublicTrainer(
    dialect="sb3",
    axis=SB3.axis,
    curves=names(
        """
        rollout/ep_rew_mean       reward.mean
        rollout/ep_len_mean       episode.length
        time/fps                  throughput.fps
        train/entropy_loss        policy.entropy
        train/explained_variance  value.explained_variance
        train/learning_rate       lr
        train/n_updates           progress.updates
        train/policy_loss         policy.loss
        train/value_loss          value.loss
        """
    ),
    evaluation=SB3.evaluation,
)
SB3_DQN = PublicTrainer(
    dialect="sb3",
    axis=SB3.axis,
    curves=names(
        """
        rollout/ep_rew_mean       reward.mean
        rollout/ep_len_mean       episode.length
        rollout/exploration_rate  epsilon
        time/fps                  throughput.fps
        train/learning_rate       lr
        train/loss                value.loss
        train/n_updates           progress.updates
        """
    ),
    evaluation=SB3.evaluation,
)
SB3_SAC = PublicTrainer(
    dialect="sb3",
    axis=SB3.axis,
    curves=names(
        """
        rollout/ep_rew_mean  reward.mean
        rollout/ep_len_mean  episode.length
        time/fps             throughput.fps
        train/actor_loss     policy.loss
        train/critic_loss    value.loss
        train/ent_coef       alpha
        train/ent_coef_loss  alpha.loss
        train/learning_rate  lr
        train/n_updates      progress.updates
        """
    ),
    evaluation=SB3.evaluation,
)

#: CleanRL's scripts evaluate nothing while they train
CLEANRL_PPO = PublicTrainer(
    dialect="cleanrl",
    axis="global_step",
    curves=names(
        """
        charts/episodic_return     reward.episode
        charts/episodic_length     episode.length
        charts/learning_rate       lr
        charts/SPS                 throughput.fps
        losses/value_loss          value.loss
        losses/policy_loss         policy.loss
        losses/entropy             policy.entropy
        losses/approx_kl           kl.old.k3
        losses/clipfrac            policy.clip_fraction
        losses/explained_variance  value.explained_variance
        """
    ),
)
CLEANRL_DQN = PublicTrainer(
    dialect="cleanrl",
    axis="global_step",
    curves=names(
        """
        charts/episodic_return  reward.episode
        charts/episodic_length  episode.length
        charts/SPS              throughput.fps
        losses/td_loss          value.loss
        """
    ),
)
CLEANRL_SAC = PublicTrainer(
    dialect="cleanrl",
    axis="global_step",
    curves=names(
        """
        charts/episodic_return  reward.episode
        charts/episodic_length  episode.length
        charts/SPS              throughput.fps
        losses/qf_loss          value.loss
        losses/actor_loss       policy.loss
        losses/alpha            alpha
        losses/alpha_loss       alpha.loss
        """
    ),
)

#: a run of the lab is shown as one of these, drawn at random
SHOWN_AS: Mapping[str, tuple[PublicTrainer, ...]] = {
    "trl/grpo-sort": (TRL_GRPO,),
    "language/grpo-sort": (TRL_GRPO, VERL_GRPO, AREAL),
    "language/grpo-reverse": (TRL_GRPO, VERL_GRPO, AREAL),
    "language/grpo-add": (TRL_GRPO, VERL_GRPO, AREAL),
    "language/grpo-tag": (TRL_GRPO, VERL_GRPO, AREAL),
    "preference/grpo-sort": (TRL_GRPO, VERL_GRPO, AREAL),
    "language/ppo-sort": (TRL_PPO, VERL_PPO, AREAL),
    "language/async-sort": (AREAL,),
    "agent/grpo-registers": (VERL_GRPO, AREAL),
    "classic/ppo-cartpole": (SB3, CLEANRL_PPO),
    "classic/a2c-cartpole": (SB3_A2C,),
    "classic/dqn-cartpole": (SB3_DQN, CLEANRL_DQN),
    "classic/sac-pendulum": (SB3_SAC, CLEANRL_SAC),
}
