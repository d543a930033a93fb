"""The canonical vocabulary: what a logged number means, whichever trainer wrote it.

A name is dotted, from the general to the special: `kl.ref`, `reward.component.<func>.mean`, `policy.clip_fraction.low`.

- A *statistic* may end any name: `reward.max`, `length.p90`, `policy.entropy.std`. A name without one is a mean
  (`kl.ref`, `grad.norm`), and `kl.ref.mean` is another spelling of `kl.ref`.
- An *estimator* may end the name of a divergence: `kl.ref.k1`, `rollout_train.kl.k3`. With r = p/q at a token sampled
  from q, k1 = -log r, k2 = (log r)^2 / 2, k3 = r - 1 - log r (Schulman, "Approximating KL divergence", 2020).
  Without one the estimator is the trainer's own, named in `Series.note`.
- `eval.` before any name is the same number on held-out data: `eval.length.mean`.
- `<x>` in a name stands for a part that the trainer chooses: a reward function, a phase, a tool.
- `name@part` is a *slice*: the same number over one part of the batch only (a data set, an environment, a layer).

There are FOUR divergences, and they never merge: `kl.ref` (to the reference model: how far training went), `kl.old` (to
the policy before this update: how large the step was), `rollout_train.kl` (between the trainer and the inference engine
on the same weights: numerics) and `behave.kl` (proximal to behaviour policy: staleness).
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, lru_cache
from types import MappingProxyType

from firstbreak.model import Link
from firstbreak.values import dataclass, replace

STATISTICS: Mapping[str, str] = MappingProxyType(
    {
        "mean": "mean",
        "min": "smallest",
        "max": "largest",
        "std": "standard deviation",
        "var": "variance",
        "sum": "sum",
        "count": "number of values",
        "p10": "10th percentile",
        "p25": "25th percentile",
        "p50": "median",
        "p75": "75th percentile",
        "p90": "90th percentile",
        "p95": "95th percentile",
        "p99": "99th percentile",
    }
)
ESTIMATORS = ("k1", "k2", "k3")
DIVERGENCES = ("kl.ref", "kl.old", "kl.post", "rollout_train.kl", "rollout_train.kl.reverse", "behave.kl")

_SPREAD = frozenset({"std", "var"})  # of these, neither up nor down is good, whatever is good of the mean


@dataclass(frozen=True)
class Signal:
    """One entry of the vocabulary, or a statistic, estimator or member of one."""

    name: str
    meaning: str
    unit: str
    link: Link
    better: str | None = None  #: "up", "down", or None where neither is good by itself
    estimator: str = ""  #: "k1", "k2", "k3" where the name fixes it
    family: str = ""  #: the name with its `<x>`, where the entry is a family
    member: str = ""  #: what stands for `<x>` in this name


# name, better, unit, meaning
_Row = tuple[str, str | None, str, str]


def _less(name: str, meaning: str, unit: str = "fraction") -> _Row:
    """A number of which less is better; most of them are shares."""
    return name, "down", unit, meaning


_ENVIRONMENT: tuple[_Row, ...] = (
    ("episode.length", None, "environment steps", "steps from reset to termination or truncation"),
    _less("env.transition_unchanged", "whether the next observation of a stored transition is the observation"),
    _less("env.observation_constant", "share of an observation's components that never change in a window"),
    ("env.observation_size", None, "", "root mean square of the largest component of the observation"),
    ("env.observation_offset", None, "ratio", "mean over spread of a component of the observation that lies far from 0"),
    ("env.action_use", None, "fraction", "size of the actions over half of the range that they may have"),
    ("env.action_shown_any", "up", "fraction", "most of a component's change that actions explain, in whatever state"),
    ("env.episodes_ended", None, "episodes", "episodes that ended among the transitions that were looked at"),
    ("env.episode_age", None, "steps", "steps since the oldest of the current episodes began"),
    ("env.start_spread", None, "", "spread of the observations with which episodes begin"),
    ("env.action_shown", "up", "fraction", "most of a component's change that the actions of the last steps explain"),
    ("env.action_shown_at_once", "up", "fraction", "most of a component's change that the action before it explains"),
    _less("env.action_effect_moved", "how far an action's effect on a component is from the first one", "ratio"),
    ("env.action_effect", None, "", "what the first action does to the component that actions move most"),
    _less("env.limits_early", "episodes that a time limit has ended before the longest such episode's length", "count"),
    ("env.step_reward", None, "reward", "mean reward of one step"),
    ("env.reward_size", None, "reward", "root mean square of the rewards of single steps"),
    ("custom.<name>", None, "", "a number that the user's own code logs"),
    _less("proof.prompt_repeated", "share of the training rows that hold one of the four most frequent prompts"),
    _less("proof.prompt_unlike", "share of the training prompts without the common beginning or end of the evaluation's"),
    _less("proof.prompt_cut", "share of the training prompts that lack the common end of the evaluation's and are shorter"),
    _less("proof.prompt_unseen", "share of the evaluation's prompts with a character that no training prompt has, beyond chance"),
    ("proof.prompt_everywhere", "down", "fraction", "share of a batch's groups that have its most frequent prompt"),
    _less("proof.prompt_torn", "of the prompts that occur more than once, share with several right answers"),
    ("proof.own_lift", "up", "standard deviations", "what a completion gets more against its own prompt's answer than another's"),
    ("proof.own_error", None, "standard deviations", "standard error of proof.own_lift"),
    (
        "proof.own_agreement",
        None,
        "fraction",
        "how much more alike the last words of two completions are where they have one prompt",
    ),
    _less("proof.answer_elsewhere", "of the prompts whose completions agree, share whose answer is another prompt's in the data"),
    ("proof.batch_repeated", "down", "count", "batches before that had the prompts of this one, in the same order"),
    ("proof.action_other", "down", "fraction", "share of the stored actions that are not those that were executed"),
    _less("proof.action_clipped", "share of the stored actions that are exactly at an end of their range"),
    _less("proof.row_other", "share of the stored rows whose observations are not those of one step"),
    _less("proof.end_missed", "share of the environment's ends that are not stored as ends"),
    _less("proof.next_begun", "share of time limits after which the next episode's first observation is stored"),
    _less("proof.spread_out", "share of the minibatches whose rows have an advantage for every other row"),
    _less("proof.value_led_astray", "share of the values whose gradient leads away from their target"),
    ("proof.gradient_kept", "down", "count", "updates whose gradient holds that of the update before"),
    ("proof.steps", None, "environment steps", "steps of an environment that a call of the recorder was given"),
    _less(
        "proof.chosen_unlikely",
        "how much less probable a token of chosen texts is than one of rejected texts, at first",
        "nats",
    ),
    ("proof.pairs_equal", "down", "fraction", "share of preference pairs whose two texts are one"),
    ("proof.pairs_swapped", "down", "fraction", "share of preference texts on the other side than in the data"),
)  # fmt: skip

_EVALUATION: tuple[_Row, ...] = (
    ("eval.reward", "up", "reward", "mean reward or return on held-out prompts or evaluation episodes"),
    ("eval.reward.best", "up", "reward", "best evaluation so far"),
    ("eval.accuracy", "up", "fraction", "share of held-out answers that are right"),
    ("eval.pass_at_k", "up", "fraction", "share of held-out prompts with a right answer among k"),
    ("eval.success_rate", "up", "fraction", "share of evaluation episodes that reach the goal"),
    ("eval.episode_length", None, "environment steps", "length of the evaluation episodes"),
    ("eval.loss", "down", "nats", "loss on held-out data"),
    ("eval.likelihood", "up", "probability", "geometric mean over held-out tokens, exp(-eval.loss)"),
    ("eval.named.<name>", "up", "", "a score of held-out data under the name that the run gives it"),
    ("eval.aux.<metric>", None, "", "a secondary validation number"),
)

_ROLLOUT: tuple[_Row, ...] = (
    ("length.mean", None, "tokens", "tokens of a completion"),
    ("length.clipped_ratio", "down", "fraction", "share of completions cut at the length limit"),
    ("length.terminated_frac", "up", "fraction", "share of completions that ended by themselves"),
    ("length.terminated_mean", None, "tokens", "length of the completions that ended by themselves"),
    ("length.terminated_min", None, "tokens", "shortest completion that ended by itself"),
    ("length.terminated_max", None, "tokens", "longest completion that ended by itself"),
    ("length.prompt.mean", None, "tokens", "tokens of a prompt"),
    ("length.prompt.clipped_ratio", "down", "fraction", "share of prompts cut at the prompt limit"),
    ("length.total.mean", None, "tokens", "prompt and completion together"),
    ("length.correct.mean", None, "tokens", "length of right answers"),
    ("length.correct.share", None, "fraction", "share of right answers with a length in one quarter (a slice)"),
    ("length.correct.clipped_ratio", None, "fraction", "share of right answers at the length limit"),
    ("length.incorrect.mean", None, "tokens", "length of wrong answers"),
    ("length.incorrect.clipped_ratio", None, "fraction", "share of wrong answers at the length limit"),
    ("length.assistant.mean", None, "tokens", "tokens that the policy itself wrote, over all turns"),
    ("length.with_obs.mean", None, "tokens", "everything after the first prompt, observations included"),
    ("length.env.mean", None, "tokens", "tokens that tools and environments wrote"),
    ("length.non_aborted.mean", None, "tokens", "length without the aborted (empty) completions"),
    ("length.non_aborted.clipped_ratio", "down", "fraction", "share cut, without the aborted completions"),
    ("length.aborted_frac", "down", "fraction", "share of completions without a token: aborted requests"),
    ("length.empty_frac", "down", "fraction", "share of rollouts that came back empty"),
    ("length.max_turns_frac", "down", "fraction", "share of rollouts stopped by the turn limit"),
    ("length.stop.<reason>", None, "fraction", "share of rollouts that stopped for this reason"),
    ("length.range", None, "tokens", "longest minus shortest completion of the batch"),
    ("length.per_turn", None, "tokens", "tokens that the policy writes in one turn"),
    ("length.obs_per_turn", None, "tokens", "tokens that the environment writes in one turn"),
    ("length.eos_count", None, "count", "end-of-sequence tokens in the batch"),
    ("length.padded", None, "tokens", "width of the padded batch"),
    ("length.packed_max", None, "tokens", "longest packed row"),
    ("group.length_range.mean", None, "tokens", "longest minus shortest completion of one prompt"),
    ("turns.mean", None, "turns", "turns of a rollout"),
    ("turns.total", None, "turns", "turns of the whole batch"),
    ("turns.tokens.mean", None, "tokens", "tokens of one turn"),
    ("tool.call_freq", None, "calls per rollout", "tool calls of a rollout"),
    ("tool.failure_freq", "down", "fraction", "share of tool calls that failed"),
    ("tool.success_freq", "up", "fraction", "share of tool calls that succeeded"),
    ("tool.error_frac", "down", "fraction", "share of rollouts that ended in an error"),
    ("tool.error_count", "down", "count", "rollouts that ended in an error"),
    ("tool.errors.<type>", "down", "count", "rollouts that ended in this error"),
    ("tool.cancelled_frac", "down", "fraction", "share of rollouts that the pipeline cancelled"),
    ("tool.invalid_frac", "down", "fraction", "share of tool calls that could not be parsed"),
    ("tool.invalid_count", "down", "count", "tool calls that could not be parsed"),
    ("tool.malformed_think_frac", "down", "fraction", "share of messages with a broken thinking block"),
    ("tool.malformed_think_count", "down", "count", "messages with a broken thinking block"),
    ("tool.messages", None, "count", "assistant messages in the batch"),
    ("tool.runtime.mean", "down", "s", "time in tools"),
    ("text.repetition_frac", "down", "fraction", "share of completions that repeat themselves"),
    ("text.refusal_frac", None, "fraction", "share of completions that refuse to answer"),
    ("text.violation_frac", "down", "fraction", "share of completions that break a rule of use or safety"),
    ("sampling.kept_vocab", None, "tokens", "candidates that top-p leaves at a token"),
    ("samples.step", None, "count", "completions in a step's batch"),
    ("samples.groups", None, "count", "prompts in a step's batch"),
    ("samples.used", None, "count", "completions that reached the loss"),
    ("samples.valid", None, "count", "completions left after masking"),
    ("samples.valid_frac", "up", "fraction", "share of completions left after masking"),
    ("samples.correct", "up", "count", "right answers in the batch"),
    ("samples.incorrect", "down", "count", "wrong answers in the batch"),
    ("samples.weight.mean", None, "", "weight of a completion in the loss"),
    ("samples.padded_len", None, "tokens", "padded width of the generated batch"),
    ("samples.share", None, "fraction", "share of the batch that one environment gives (always a slice)"),
    ("filter.kept_frac", "up", "fraction", "share of samples that the filters leave"),
    ("filter.admitted_frac", "up", "fraction", "share of rollouts admitted to training"),
    ("filter.trainable_frac", "up", "fraction", "share of rollouts that carry a training signal"),
    ("filter.detected_frac", None, "fraction", "share of rollouts that a filter flags"),
    ("filter.accepted_per_prompt", "up", "samples per prompt", "samples accepted for each prompt consumed"),
    ("filter.prompts", None, "count", "prompts seen by the filter"),
    ("filter.dropped", None, "count", "groups or prompts that the filter dropped"),
    ("filter.zero_std_dropped", None, "count", "groups dropped because all their rewards were equal"),
    ("filter.all_right_dropped", None, "count", "groups dropped because every answer was right"),
    ("filter.all_wrong_dropped", None, "count", "groups dropped because every answer was wrong"),
    ("filter.partial_dropped", None, "count", "groups dropped at a reward between wrong and right"),
    ("filter.surplus_dropped", None, "count", "good samples dropped because the batch was full"),
    ("filter.failed", "down", "count", "samples dropped because their rollout failed"),
    ("filter.masked", None, "count", "samples kept in the batch and masked in the loss"),
    ("filter.no_resample", None, "count", "prompts that will not be drawn again"),
    ("filter.gen_batches", "down", "count", "generation batches needed to fill one training batch"),
    ("filter.buffer", None, "count", "groups waiting when the trainer asked for a batch"),
    ("filter.empty_batch", "down", "0 or 1", "the filters left nothing, and the update was skipped"),
    ("filter.other.<name>", None, "", "another number of the sample filter"),
    _less("proof.answer_too_long", "share of completions that were cut, with a right answer beyond the limit"),
    ("proof.sampling_gap", None, "nats", "how much more than its entropy sampled tokens surprise the policy, a token"),
    ("proof.sampling_z", None, "", "the same in standard errors"),
    _less("proof.copies", "share of a prompt's pairs of samples that are equal, less the share that is expected"),
    _less("proof.ends_missing", "share of the ends that the policy's probabilities promise and that were not sampled"),
)

_REWARD: tuple[_Row, ...] = (
    ("reward.mean", "up", "reward", "task reward of a completion or return of an episode, before any shaping"),
    ("reward.episode", "up", "reward", "return of single episodes, one point each"),
    ("reward.rollout.mean", "up", "reward", "reward of everything generated, also what was not trained on"),
    ("reward.filtered.mean", "up", "reward", "reward of what the filters left"),
    ("reward.shaped.mean", "up", "reward", "reward after KL penalty, clipping or normalisation: what is trained on"),
    ("reward.token_shaped.mean", None, "reward per token", "shaped reward spread over the tokens"),
    ("reward.normalized.mean", None, "", "reward after group normalisation: near 0 by construction"),
    ("reward.positive.mean", "up", "reward", "mean of the rewards with negative ones counted as 0"),
    ("reward.step.mean", "up", "reward per step", "reward of one environment step"),
    ("reward.episode_norm.mean", None, "", "normalised reward of an episode"),
    ("reward.step_norm.mean", None, "", "normalised reward of a step"),
    ("reward.score", "up", "fraction", "second, binary score used to filter"),
    ("reward.kl_penalty", None, "reward", "the penalty for leaving the reference model: negative where KL > 0"),
    ("reward.component.<func>.mean", "up", "reward", "one reward function alone, before its weight"),
    ("reward.component.<func>.accuracy", "up", "fraction", "share of answers that one reward function accepts"),
    ("reward.category.<name>", None, "fraction", "share of samples in one category of reward"),
    ("reward.group_std", "up", "reward", "spread of rewards among completions of one prompt, mean over prompts"),
    ("reward.zero_std_frac", "down", "fraction", "share of prompts whose completions all got the same reward"),
    ("reward.zero_std_count.<reward>", "down", "count", "prompts whose completions all got this reward"),
    ("reward.solve_all_frac", None, "fraction", "share of prompts that every completion solves"),
    ("reward.solve_none_frac", "down", "fraction", "share of prompts that no completion solves"),
    ("reward.mixed_frac", "up", "fraction", "share of prompts solved by some completions and not by others"),
    ("reward.baseline_one_frac", None, "fraction", "share of samples whose group baseline is 1"),
    ("reward.baseline_zero_frac", None, "fraction", "share of samples whose group baseline is 0"),
    ("reward.baseline_mixed_frac", "up", "fraction", "share of samples whose group baseline is neither 0 nor 1"),
    ("reward.effective_frac", "up", "fraction", "share of the expected batch that carries a training signal"),
    ("reward.unsolved_frac", None, "fraction", "share of the kept samples below the highest score"),
    ("reward.accuracy", "up", "fraction", "share of training answers that are right"),
    ("reward.pass_at_k", "up", "fraction", "share of training prompts with a right answer among k"),
    ("reward.at_max_frac", None, "fraction", "share of samples at the batch's highest score"),
    ("reward.at_min_frac", None, "fraction", "share of samples at the batch's lowest score"),
    ("reward.clip_frac", "down", "fraction", "share of rewards cut at the reward limit"),
    ("reward.token_clip_frac", "down", "fraction", "share of token rewards cut at the reward limit"),
    ("group.correct_frac.mean", "up", "fraction", "share of right answers to one prompt"),
    ("score.mean", "up", "", "the environment's own measure of success, where it is not the reward"),
    ("success_rate", "up", "fraction", "share of training episodes that reach the goal"),
    ("curiosity.loss", None, "", "prediction error that is paid as intrinsic reward"),
    ("rm.loss", "down", "nats", "loss of a reward model in training"),
    ("rm.accuracy", "up", "fraction", "share of pairs that the reward model orders right"),
    ("rm.margin", "up", "reward", "reward model: chosen minus rejected"),
    ("rm.reward.mean", None, "reward", "output of the reward model in training"),
    ("rm.reward.chosen", None, "reward", "output of the reward model for the chosen answer"),
    ("rm.reward.rejected", None, "reward", "output of the reward model for the rejected answer"),
    ("proof.reward_missing", "down", "fraction", "share of completions that no reward function scored"),
    ("proof.reward_noisy", "down", "fraction", "share of completions that a second call scores otherwise"),
    _less("proof.reward_moved", "share of completions whose score is another row's, or depends on their place"),
    _less("proof.reward_relative", "share of completions whose score depends on which rows are beside it"),
    _less("proof.reward_raised", "whether the reward function raised when it was called again: 1 or 0", ""),
    ("proof.probed_prompts", None, "count", "prompts of which known texts were scored"),
    ("proof.right_rows", None, "count", "right completions that were found"),
    ("proof.mixed_prompts", None, "count", "prompts with right and wrong completions"),
    ("proof.reward_turned", "down", "fraction", "share of prompts whose right answer gets less than an empty text"),
    _less("proof.reward_open", "share of prompts whose empty text gets as much as the right answer and the best completions"),
    _less("proof.reward_unpaid", "share of right completions that get no more than wrong ones on average"),
    _less("proof.reward_deaf", "share of prompts of which all texts get one score, where prompts differ in it"),
    _less("proof.reward_unread", "share of prompts whose right answer gets no more than another prompt's"),
    ("proof.reward_longer", "down", "fraction", "share of completions that get more when they are repeated"),
    _less("proof.reference_elsewhere", "of completions that are a right answer, the share for which it is another prompt's"),
    _less("proof.reward_clipped", "of the groups with different rewards, share with one reward after clipping"),
    _less("proof.reward_twins", "of completions that are equal to one before in their group, share with another reward"),
    _less("proof.reward_blind", "of the prompts with right and wrong completions, share for which all get one reward"),
    ("proof.reference_split", "down", "fraction", "share of the groups of one prompt with several right answers"),
)  # fmt: skip

_ADVANTAGE: tuple[_Row, ...] = (
    ("advantage.mean", None, "", "advantage that weights the policy loss"),
    ("advantage.of_prompt_absmax", "down", "", "largest absolute mean advantage of one prompt's completions"),
    ("advantage.abs.mean", None, "", "size of the advantages"),
    _less(
        "advantage.error", "relative distance of the advantages from those worked out again from rewards and ends", ""
    ),
    ("advantage.turned", "down", "fraction", "share of the advantages that are minus those worked out again"),
    ("advantage.raw.mean", None, "", "advantage before normalisation"),
    ("advantage.right.mean", None, "", "advantage of right answers"),
    ("advantage.wrong.mean", None, "", "advantage of wrong answers"),
    ("advantage.raw.right.mean", None, "", "advantage of right answers before normalisation"),
    ("advantage.raw.wrong.mean", None, "", "advantage of wrong answers before normalisation"),
    _less("advantage.zero_frac", "share of advantages that are 0, as they are where a group's rewards are equal"),
    ("advantage.clip_frac", "down", "fraction", "share of advantages cut at the limit"),
    ("returns.mean", None, "reward", "return that the critic is trained to predict"),
    ("value.loss", None, "reward^2", "loss of the critic"),
    ("value.loss.delta", "down", "reward^2", "critic loss after the update minus before"),
    ("value.mean", None, "reward", "value that the critic predicts (Q for off-policy methods)"),
    ("value.old.mean", None, "reward", "value predicted when the data was made"),
    ("value.pred.mean", None, "reward", "value predicted during the update"),
    ("value.target.mean", None, "reward", "target of the critic"),
    ("value.error", "down", "reward^2", "squared error of the critic"),
    ("value.explained_variance", "up", "fraction", "1 - Var(return - value) / Var(return)"),
    ("value.clip_fraction", None, "fraction", "share of values whose update was clipped"),
    ("value.clip_range", None, "reward", "limit of a value update"),
    ("value.grad_norm", None, "", "gradient norm of the critic"),
    ("value.lr", None, "", "learning rate of the critic"),
    ("value.update_ok", "up", "fraction", "share of critic updates that were applied"),
    ("td_error", None, "reward", "absolute one-step error of the critic"),
    ("replay.size", None, "environment steps", "fill of the replay buffer"),
    ("replay.<count>", None, "", "another number of the replay buffer"),
    ("replay.is_beta", None, "", "importance exponent of prioritised replay"),
    ("proof.advantage_error", "down", "", "relative distance of the advantages from those that the rewards give"),
    _less("proof.advantage_turned", "share of the advantages with the opposite sign of what the rewards give"),
    _less("proof.advantage_displaced", "share of a minibatch's rows whose advantage in the rollout is another"),
    ("proof.advantage_moved", "down", "fraction", "share of rows with another row's advantage"),
    _less("proof.advantage_regrouped", "share of rows whose baseline is of other completions than the prompt's"),
    ("proof.advantage_raw", "down", "fraction", "share of rows whose advantage is the reward, without a baseline"),
    ("proof.group_mixed", "down", "fraction", "share of groups with completions of several prompts"),
    ("proof.critic_rate_reached", None, "fraction", "learning rate of the critic in force, of the configured one"),
    ("proof.critic_idle", "down", "fraction", "share of the critic's weights that no optimizer moves"),
    ("proof.mask_extra", "down", "fraction", "share of the tokens in the loss that were not sampled"),
    ("proof.mask_missing", "down", "fraction", "share of the sampled tokens that are not in the loss"),
    _less("proof.two_readings", "share of the steps or tokens that are right in one of two readings only"),
    ("proof.gradient_outside", "down", "fraction", "share of the gradient on tokens that were not sampled"),
    ("proof.through_ends", "down", "count", "ends of episodes across which values are added"),
    ("proof.target_error", "down", "", "relative distance of the critic's targets from rewards and values"),
    _less("proof.gradient_missing", "share of the sampled tokens without a gradient in the first update on a batch"),
)

_POLICY_UPDATE: tuple[_Row, ...] = (
    _less("proof.gradient_one_sided", "whether only good or only bad tokens have a gradient in a first update: 1 or 0", ""),
    ("kl.ref", None, "nats per token", "divergence of the policy from the reference model"),
    ("kl.ref.seq_sum", None, "nats per sequence", "divergence from the reference model, summed over a completion"),
    ("kl.ref_baseline", None, "nats per sequence", "KTO's baseline: log ratio on mismatched pairs, not a divergence"),
    ("kl.old", None, "nats per token", "divergence of the policy from itself before the update"),
    ("kl.post", None, "nats per token", "divergence of the sampling policy from the policy after the whole update"),
    ("kl.aux", None, "nats", "divergence held small during an auxiliary phase"),
    ("kl.coef", None, "", "weight of the KL penalty"),
    ("kl.loss", None, "nats", "KL term of the loss with its weight"),
    ("loss.total", None, "", "what the optimizer minimises"),
    ("loss.aux", None, "", "load-balancing loss of a mixture of experts"),
    ("loss.mtp", "down", "nats", "loss of multi-token prediction"),
    ("loss.nll", "down", "nats", "likelihood term on good answers"),
    ("loss.xpo", None, "nats", "exploration term of XPO"),
    ("policy.loss", None, "", "policy-gradient loss"),
    ("policy.loss_weighted", None, "", "policy-gradient loss with sample weights"),
    ("policy.loss.delta", "down", "", "policy loss after the update minus before"),
    ("policy.objective", "up", "", "surrogate objective, maximised"),
    ("policy.clip_fraction", None, "fraction", "share of tokens or samples whose gradient the clip cuts"),
    ("policy.clip_fraction.low", None, "fraction", "share clipped at the lower bound"),
    ("policy.clip_fraction.high", None, "fraction", "share clipped at the upper bound"),
    ("policy.clip_fraction.dual", None, "fraction", "share caught by the dual clip (bad action, ratio far too high)"),
    ("policy.clip_fraction.tis", None, "fraction", "share clipped by a truncated-importance-sampling loss"),
    ("policy.clip_fraction.adv_pos", None, "fraction", "among what is masked, share with positive advantage"),
    ("policy.clip_fraction.adv_neg", None, "fraction", "among what is masked, share with negative advantage"),
    ("policy.clip_range", None, "ratio", "half-width of the clip"),
    ("policy.ratio.mean", None, "ratio", "probability under the policy over probability before the update"),
    ("policy.ratio.clamped.mean", None, "ratio", "the ratio after clipping"),
    ("policy.ratio.absdev", None, "ratio", "mean distance of the ratio from 1"),
    ("policy.ratio.ess", "up", "fraction", "effective share of the batch under the ratio's weights"),
    ("policy.ratio_out", None, "fraction", "share of ratios outside the clip range, whatever the advantage"),
    ("policy.ratio_out.high", None, "fraction", "share of ratios above the clip range"),
    ("policy.ratio_out.low", None, "fraction", "share of ratios below the clip range"),
    ("policy.logp.mean", None, "nats per token", "log-probability of the sampled tokens under the policy"),
    ("policy.logp.old", None, "nats per token", "the same under the policy before the update"),
    ("policy.logp.ref", None, "nats per token", "the same under the reference model"),
    ("policy.logp.rollout", None, "nats per token", "the same as the inference engine reported it"),
    ("policy.logp.teacher", None, "nats per token", "the same under the teacher"),
    ("policy.logp.proximal.mean", None, "nats per token", "the same under the recomputed proximal policy"),
    ("policy.clipped_logp.new.mean", None, "nats per token", "log-probability of clipped tokens, now"),
    ("policy.clipped_logp.old.mean", None, "nats per token", "log-probability of clipped tokens, before"),
    ("policy.token_accuracy", "up", "fraction", "share of tokens that are the policy's first choice"),
    ("policy.opsm_frac", None, "fraction", "share masked by off-policy sequence masking"),
    ("policy.sapo_gate.<gate>.mean", None, "", "soft gate that SAPO puts in the place of the clip"),
    ("policy.vespo_weight", None, "", "sequence weight of VESPO, 1 on-policy"),
    ("policy.stop_iter", None, "count", "update iterations before the KL limit stopped them"),
    ("policy.backtrack_iters", None, "count", "line-search steps back before a step was accepted"),
    ("policy.step_size", None, "", "step of a random-search method"),
    ("policy.delta_std", None, "", "size of the perturbations of a random-search method"),
    ("policy.line_search_success", "up", "fraction", "share of line searches that found a step"),
    ("lr", None, "", "learning rate of the policy"),
    ("weight_decay", None, "", "weight decay"),
    ("pref.loss", "down", "nats", "loss of a preference method"),
    ("pref.likelihood", "up", "probability", "of the chosen over the rejected answer, exp(-pref.loss)"),
    ("pref.nll", "down", "nats", "likelihood term of a preference method"),
    ("pref.reward.chosen", None, "nats", "implicit reward of the chosen answer"),
    ("pref.reward.rejected", None, "nats", "implicit reward of the rejected answer"),
    ("pref.reward.margin", "up", "nats", "implicit reward: chosen minus rejected"),
    ("pref.reward.accuracy", "up", "fraction", "share of pairs whose chosen answer has the higher implicit reward"),
    ("pref.score_margin", "up", "reward", "external reward: chosen minus rejected"),
    ("pref.log_odds", None, "nats", "log odds of the chosen over the rejected answer (ORPO)"),
    ("pref.log_odds_ratio", "up", "nats", "log sigmoid of those log odds (ORPO)"),
    ("pref.logp.chosen", None, "nats per sequence", "log-probability of the chosen answer"),
    ("pref.logp.rejected", None, "nats per sequence", "log-probability of the rejected answer"),
    _less(
        "pref.refusal_for_answer",
        "whether the chosen answer of a stored pair refuses, and the rejected one is a short answer",
    ),
    ("pref.logits.chosen", None, "", "mean logit on the chosen answer"),
    ("pref.logits.rejected", None, "", "mean logit on the rejected answer"),
    ("sft.loss.mean", "down", "nats per token", "supervised loss"),
    ("sft.nll", "down", "nats per token", "supervised negative log-likelihood"),
    ("sft.ppl.mean", "down", "", "perplexity of the supervised data"),
    ("sft.likelihood", "up", "probability", "geometric mean over tokens of the supervised data, exp(-loss)"),
    ("distill.loss", "down", "nats", "distillation loss"),
    ("distill.abs_loss", None, "nats", "size of the distillation loss"),
    ("distill.reverse_kl", "down", "nats per token", "divergence of the student from the teacher"),
    ("distill.ref_logratio", None, "nats per token", "teacher minus student log-probability: minus a k1 divergence"),
    ("distill.overlap", "up", "fraction", "share of likely tokens that teacher and student have in common"),
    ("distill.student_mass", None, "fraction", "student probability on the shared tokens"),
    ("distill.teacher_mass", None, "fraction", "teacher probability on the shared tokens"),
    ("config.<option>", None, "", "a setting that the trainer repeats in its log"),
    ("proof.gradient_turned", "down", "fraction", "share of the gradient that makes good completions less probable"),
    ("proof.ratio_error", "down", "fraction", "mean distance of the ratio from exp(new - old log-probability)"),
    ("proof.rows_trained", None, "fraction", "share of a rollout's rows that were in its minibatches"),
    ("proof.ratio_first", "down", "", "mean distance of the ratio from 1 before the first update on a batch"),
    ("proof.dropout", "down", "nats", "mean distance of log-probabilities between training and evaluation mode"),
    ("proof.step_gain", "up", "", "advantage times change of log-probability in an update, over its size: from -1 to 1"),
    ("proof.step_size", None, "nats", "mean change of a token's log-probability in one update"),
    _less("proof.untrained", "share of the trainable weights without a gradient or outside the optimizer"),
    ("proof.frozen", "down", "fraction", "share of an adapter's weights that are not trainable"),
    _less("proof.changed_between", "times but the first that something else than the optimizer changed the weights", "count"),
    ("proof.returned", "down", "count", "times so far that the weights of an earlier update came back"),
    _less("proof.decaying", "of the weights' sizes, share from which weight decay takes more than a step gives"),
    ("proof.trainable", None, "fraction", "share of the weights that are trainable, of a model without adapters"),
    _less("proof.resumed_otherwise", "share of the weights that are not those of the checkpoint before a restart"),
    ("proof.overwritten", "down", "fraction", "share of the weights that something else than the optimizer changed"),
    ("proof.rate_reached", None, "fraction", "learning rate in force, of the configured one"),
    ("proof.penalty_turned", "down", "fraction", "share of completions whose penalty is larger than their reward"),
    ("proof.clip_open", "down", "fraction", "share of the tokens beyond the clip range that keep their whole gradient"),
    _less(
        "proof.reference_start",
        "mean distance of the policy's log-probabilities from the reference's before any update",
        "nats",
    ),
    ("proof.reference_gap", None, "nats", "mean distance between policy and reference on a fresh batch, a token"),
    ("proof.reference_shared", "down", "fraction", "share of the weights that policy and reference have in common"),
)  # fmt: skip

_EXPLORATION: tuple[_Row, ...] = (
    ("policy.entropy", None, "nats", "entropy of the policy, per token or action"),
    ("policy.entropy_proxy", None, "nats", "minus the log-probability of what was sampled: a noisy entropy"),
    ("policy.entropy_proxy.seq_sum", None, "nats per sequence", "the same, summed over a completion"),
    ("policy.entropy_proxy.correct", None, "nats", "the same on right answers"),
    ("entropy.coef", None, "", "weight of the entropy bonus"),
    ("entropy.loss", None, "nats", "entropy term of the loss with its weight: minus coefficient times entropy"),
    ("alpha", None, "", "temperature of soft actor-critic"),
    ("alpha.loss", None, "", "loss of the temperature, 0 at balance"),
    ("epsilon", None, "fraction", "share of random actions"),
    ("action.std", None, "action units", "spread of the action distribution"),
    ("action.max", None, "action units", "largest action, as the environment gets it"),
    ("action.bound_loss", None, "", "penalty on action means outside the range"),
    ("diversity.<kind>", "up", "fraction", "share of outputs that differ, or another measure of variety"),
)

_FRESHNESS: tuple[_Row, ...] = (
    ("staleness.mean", "down", "policy versions", "age of the data: version trained minus version that generated"),
    ("staleness.worst.mean", "down", "policy versions", "age of the oldest token of a sample"),
    ("staleness.proximal.mean", "down", "policy versions", "age against the proximal policy"),
    ("staleness.span.mean", None, "policy versions", "versions that wrote one sample"),
    ("staleness.in_flight.mean", "down", "policy versions", "age gained while generating"),
    ("staleness.in_queue.mean", "down", "policy versions", "age gained while waiting for the trainer"),
    ("staleness.dropped", "down", "count", "samples dropped because they were too old"),
    ("staleness.stale_frac", "down", "fraction", "share of samples from an older policy"),
    ("staleness.stale_samples", "down", "count", "samples from an older policy"),
    ("staleness.stale_trajectories", "down", "count", "trajectories from an older policy"),
    ("staleness.violations", "down", "count", "samples older than the limit that were used all the same"),
    ("staleness.generated", None, "count", "samples generated so far"),
    ("staleness.buffer_size", None, "count", "samples waiting for the trainer"),
    ("staleness.async_level", None, "steps", "steps that generation may run ahead"),
    ("staleness.cancelled", "down", "count", "rollouts cancelled as too old"),
    ("staleness.in_flight_rollouts", None, "count", "rollouts under way"),
    ("staleness.partial.count", None, "count", "rollouts interrupted by a weight update"),
    ("staleness.partial.frac", None, "fraction", "share of rollouts interrupted by a weight update"),
    ("staleness.partial.max_span", None, "policy versions", "most versions in one interrupted rollout"),
    ("policy_version.mean", None, "policy versions", "version that generated the data"),
    ("policy_version.train", None, "policy versions", "version in training"),
    ("policy_version.proximal", None, "policy versions", "version of the proximal policy"),
    ("policy_version.tokens", None, "tokens", "generated tokens whose version is known"),
    ("rollout_train.kl", None, "nats per token", "divergence between inference engine and trainer, same tokens"),
    ("rollout_train.kl.reverse", None, "nats per token", "the same with the roles exchanged"),
    ("rollout_train.kl.masked", None, "nats per token", "the same on masked tokens"),
    ("rollout_train.kl.unmasked", None, "nats per token", "the same on tokens left in the loss"),
    ("rollout_train.kl.weighted", None, "nats", "log ratio weighted by probability: small, not an estimate of KL"),
    ("rollout_train.kl_ent_ratio", None, "", "divergence between the engines over entropy"),
    ("rollout_train.js", "down", "nats per token", "Jensen-Shannon divergence between the engines"),
    ("rollout_train.logp_absdiff.mean", "down", "nats", "distance of the two engines' log-probabilities"),
    ("rollout_train.prob_absdiff.mean", "down", "probability", "distance of the two engines' probabilities"),
    ("rollout_train.prob_diff", None, "probability", "trainer minus engine probability"),
    ("rollout_train.prob_pearson", "up", "", "correlation of the two engines' probabilities"),
    ("rollout_train.mult_prob_error", "down", "ratio", "mean of exp |log-probability difference|: 1 is perfect"),
    ("rollout_train.seq_mult_prob_error.mean", "down", "ratio", "the same per sequence"),
    ("rollout_train.ratio.mean", None, "ratio", "trainer over engine probability, the correction's weight"),
    ("rollout_train.ratio.seq.mean", None, "ratio", "the weight per sequence"),
    ("rollout_train.ratio.seq.max_deviation", "down", "ratio", "largest distance of a sequence's weight from 1"),
    ("rollout_train.ratio.batch_norm", None, "ratio", "factor that brings the mean weight to 1"),
    ("rollout_train.ratio.absdev", "down", "ratio", "mean distance of the weight from 1"),
    ("rollout_train.ratio_cap_frac", "down", "fraction", "share of weights outside the allowed range"),
    ("rollout_train.ratio_cap_frac.high", "down", "fraction", "share of weights above the range"),
    ("rollout_train.ratio_cap_frac.low", "down", "fraction", "share of weights below the range"),
    ("rollout_train.ratio_cap_frac.token", "down", "fraction", "share of token weights above the range"),
    ("rollout_train.ratio_cap_frac.seq", "down", "fraction", "share of sequence weights outside the range"),
    ("rollout_train.ratio_cap_frac.seq_high", "down", "fraction", "share of sequence weights above the range"),
    ("rollout_train.ratio_cap_frac.seq_low", "down", "fraction", "share of sequence weights below the range"),
    ("rollout_train.ess", "up", "fraction", "effective share of the batch under the weights"),
    ("rollout_train.chi2.token", "down", "", "chi-square divergence of the engines per token"),
    ("rollout_train.chi2.seq", "down", "", "chi-square divergence of the engines per sequence"),
    ("rollout_train.ppl.train", None, "", "perplexity of the completions for the trainer"),
    ("rollout_train.ppl.rollout", None, "", "perplexity of the completions for the engine"),
    ("rollout_train.ppl_ratio", None, "ratio", "trainer's perplexity over the engine's"),
    ("rollout_train.log_ppl.train", None, "nats per token", "log-perplexity for the trainer"),
    ("rollout_train.log_ppl.rollout", None, "nats per token", "log-perplexity for the engine"),
    ("rollout_train.log_ppl_diff.mean", None, "nats per token", "log-perplexity: trainer minus engine"),
    ("rollout_train.log_ppl_absdiff", "down", "nats per token", "distance of the log-perplexities"),
    ("rollout_train.masked_frac", "down", "fraction", "share of tokens rejected by the correction"),
    ("rollout_train.masked_frac.high", "down", "fraction", "share rejected for too high a ratio"),
    ("rollout_train.masked_frac.low", "down", "fraction", "share rejected for too low a ratio"),
    ("rollout_train.masked_seq_frac", "down", "fraction", "share of sequences with a rejected token"),
    ("rollout_train.masked_seqs", "down", "count", "sequences rejected by the correction"),
    ("rollout_train.masked_correct", None, "fraction", "share of the rejected sequences that were right"),
    ("rollout_train.kept_frac", "up", "fraction", "share of tokens that the correction leaves"),
    ("rollout_train.veto_frac", "down", "fraction", "share of sequences rejected for one catastrophic token"),
    ("rollout_train.rs.<rule>.mean", None, "", "quantity on which one rejection rule decides"),
    ("rollout_train.rs.<rule>.high", "down", "fraction", "share above the rule's range"),
    ("rollout_train.rs.<rule>.low", "down", "fraction", "share below the rule's range"),
    ("rollout_train.rs.<rule>.masked", "down", "fraction", "share of tokens that the rule rejects"),
    ("rollout_train.rs.<rule>.seq_masked", "down", "fraction", "share of sequences that the rule rejects"),
    ("rollout_train.valid", None, "0 or 1", "the comparison of the engines was made"),
    ("behave.kl", None, "nats per token", "divergence of the proximal policy from the one that made the data"),
    ("behave.ratio.mean", None, "ratio", "proximal over behaviour probability"),
    ("behave.ratio_cap_frac", "down", "fraction", "share of tokens whose behaviour ratio is outside the cap"),
    ("behave.logp.mean", None, "nats per token", "log-probability under the behaviour policy"),
    ("behave.logp_absdiff.mean", "down", "nats", "distance of current and behaviour log-probabilities"),
    ("behave.kept_tokens", None, "tokens", "tokens left by the cap on the behaviour ratio"),
    ("prox_approx.<quantity>.mean", None, "", "quality of an interpolated proximal policy"),
    _less("proof.engine_gap", "mean distance of the engine's log-probabilities from the trainer's", "nats per token"),
    _less("proof.engine_tail", "share of the tokens whose two log-probabilities lie more than a nat apart"),
    ("proof.sample_age", None, "versions", "mean age of the weights that sampled the batch"),
    _less("proof.age_beyond", "share of the tokens that are older than allowed, or newer than the trainer"),
    ("proof.sampled_elsewhere", "down", "", "whether the trained model made no pass while completions were sampled"),
)

_NUMERICS: tuple[_Row, ...] = (
    ("grad.norm", None, "", "gradient norm of the policy, before clipping unless noted"),
    ("grad.noise.<proxy>", None, "", "a proxy of the gradient's variance"),
    ("optim.update_ok", "up", "fraction", "share of optimizer steps applied: below 1, a gradient was not finite"),
    ("optim.loss_scale", None, "", "loss scale of mixed precision"),
    ("optim.max_second_moment", None, "", "largest second moment of Adam"),
    ("optim.other.<name>", None, "", "another number of the optimizer"),
    ("policy.weight_norm", None, "", "norm of the policy's weights"),
    ("policy.logits_max.mean", None, "", "largest logit of a token"),
    ("policy.logits_min.mean", None, "", "smallest logit of a token"),
    ("policy.logits_absmax", None, "", "largest absolute logit of the batch"),
    ("data.valid_frac", "up", "fraction", "share of the batch that is valid"),
    ("proof.nonfinite", "down", "count", "stages of the update with a number that is not finite"),
    ("proof.rounded", "down", "fraction", "share of the weights with a gradient that an update leaves as they were"),
    ("proof.shortened", "down", "fraction", "share of the weights that lose bits after the optimizer's step"),
)

_SYSTEMS: tuple[_Row, ...] = (
    ("time.step", "down", "s", "one training step, everything included"),
    ("time.iteration", "down", "s", "one iteration of the outer loop"),
    ("time.rollout", "down", "s", "making the data"),
    ("time.train", "down", "s", "updating the policy"),
    ("time.train_critic", "down", "s", "updating the critic"),
    ("time.update_weights", "down", "s", "sending new weights to the inference engine"),
    ("time.wait_batch", "down", "s", "trainer waiting for data"),
    ("time.reward", "down", "s", "scoring"),
    ("time.eval", "down", "s", "evaluating"),
    ("time.save", "down", "s", "saving checkpoints"),
    ("time.elapsed", None, "s", "since the start of training"),
    ("time.unix", None, "s", "wall clock, seconds since 1970"),
    ("time.wait_frac", "down", "fraction", "share of the step that the trainer waits"),
    ("time.idle.<worker>", "down", "fraction", "share of time that a worker is idle"),
    ("time.<phase>", "down", "s", "another phase of the step"),
    ("time_per_token.<phase>", "down", "ms per token", "time of a phase per token"),
    ("throughput.sps", "up", "environment steps per s", "speed since the start, rollout and training together"),
    ("throughput.sps_instant", "up", "environment steps per s", "speed of the last iteration"),
    ("throughput.fps", "up", "frames per s", "speed in frames"),
    ("throughput.tok_s", "up", "tokens per s", "speed of the whole step"),
    ("throughput.tok_s_gpu", "up", "tokens per s per GPU", "speed of the whole step per GPU"),
    ("throughput.gen_tok_s", "up", "tokens per s", "speed of generation"),
    ("throughput.train_tok_s", "up", "tokens per s", "speed of training"),
    ("throughput.episodes_per_s", "up", "episodes per s", "episodes per second"),
    ("throughput.<what>", "up", "", "another speed"),
    ("memory.gpu", None, "GB", "GPU memory in use"),
    ("memory.gpu_reserved", None, "GB", "GPU memory reserved by the allocator, peak"),
    ("memory.alloc_retries", "down", "count", "times that the allocator freed its cache and tried again, so far"),
    ("memory.cpu", None, "GB", "host memory in use"),
    ("memory.<what>", None, "GB", "another memory reading"),
    ("perf.mfu", "up", "fraction", "share of the hardware's peak arithmetic"),
    ("perf.<what>", None, "", "another measure of efficiency"),
    ("gpu.util", "up", "percent", "GPU utilisation"),
    ("gpu.power", None, "W", "power that the GPU draws"),
    ("gpu.memory_share", None, "percent", "share of the GPU's memory in use"),
    ("gpu.memory_size", None, "GB", "memory of the GPU"),
    ("spec.accept_rate", "up", "fraction", "share of speculated tokens accepted"),
    ("spec.accept_length", "up", "tokens", "speculated tokens accepted in a row"),
    ("moe.load_violation", "down", "", "imbalance of the experts' load"),
    ("moe.routing_confidence", None, "", "probability of the chosen experts"),
    ("moe.<what>", None, "", "another number of a mixture of experts"),
    ("mtp.<what>", None, "", "a number of multi-token prediction"),
    ("tokens.step", None, "tokens", "tokens of a step, prompt and completion"),
    ("tokens.train", None, "tokens", "tokens that enter the loss"),
    ("tokens.total", None, "tokens", "tokens so far"),
    ("tokens.<which>", None, "tokens", "another count of tokens"),
    ("progress.step", None, "steps", "training steps done"),
    ("progress.env_steps", None, "environment steps", "environment steps so far, over all environments"),
    ("progress.iterations", None, "iterations", "iterations of the outer loop"),
    ("progress.episodes", None, "episodes", "episodes or completions so far"),
    ("progress.epoch", None, "epochs", "passes over the data"),
    ("progress.updates", None, "updates", "optimizer steps, or the trainer's own count of updates"),
    ("progress.frac", None, "fraction", "share of the run that is done"),
    ("progress.<count>", None, "", "another measure of progress"),
)

LINKS: tuple[tuple[Link, tuple[_Row, ...]], ...] = (
    (Link.ENVIRONMENT, _ENVIRONMENT),
    (Link.EVALUATION, _EVALUATION),
    (Link.ROLLOUT, _ROLLOUT),
    (Link.REWARD, _REWARD),
    (Link.ADVANTAGE, _ADVANTAGE),
    (Link.POLICY_UPDATE, _POLICY_UPDATE),
    (Link.EXPLORATION, _EXPLORATION),
    (Link.FRESHNESS, _FRESHNESS),
    (Link.NUMERICS, _NUMERICS),
    (Link.SYSTEMS, _SYSTEMS),
)

SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        name: Signal(name, meaning, unit, link, better, family=name if "<" in name else "")
        for link, rows in LINKS
        for name, better, unit, meaning in rows
    }
)

# What may answer for a signal that was not recorded, the best first. Estimators of one divergence are added below.
_STAND_INS: Mapping[str, tuple[str, ...]] = {
    "reward.mean": ("reward.episode", "reward.rollout.mean", "reward.filtered.mean"),
    "eval.reward": ("eval.accuracy", "eval.success_rate"),
    "policy.entropy": ("policy.entropy_proxy",),
    "length.mean": ("length.assistant.mean",),
    "reward.zero_std_frac": ("advantage.zero_frac",),
    "reward.solve_none_frac": ("reward.baseline_zero_frac",),
    "reward.solve_all_frac": ("reward.baseline_one_frac",),
    "value.mean": ("value.pred.mean", "value.old.mean"),
    "throughput.sps": ("throughput.sps_instant", "throughput.fps"),
}

# Evaluation has names of its own for these; for all others `eval.` is put before the name.
_EVALUATED: Mapping[str, str] = {
    "reward": "eval.reward",
    "reward.episode": "eval.reward",
    "reward.accuracy": "eval.accuracy",
    "reward.pass_at_k": "eval.pass_at_k",
    "episode.length": "eval.episode_length",
    "loss.total": "eval.loss",
    "sft.loss": "eval.loss",
    "sft.nll": "eval.loss",
}

# Longest beginning first: `rollout_train.rs.<rule>.high` is tried before shorter families.
_FAMILIES: tuple[tuple[str, str, str], ...] = tuple(
    (name, name.partition("<")[0], name.partition(">")[2])
    for name in sorted((n for n in SIGNALS if "<" in n), key=lambda n: (-n.index("<"), -len(n)))
)


def lookup(name: str) -> Signal | None:
    """What a canonical name means, be it an entry, a statistic, a member or on held-out data; None where it is unknown.

    The `name` of the answer is the canonical spelling: `lookup("kl.ref.mean").name == "kl.ref"`.
    """
    whole, at, part = name.partition("@")
    signal = _lookup(whole)
    return replace(signal, name=f"{signal.name}@{part}") if signal and at else signal


@lru_cache(maxsize=4096)
def _lookup(name: str) -> Signal | None:
    return _entry(name) or _estimator(name) or _statistic(name) or _held_out(name)


def _entry(name: str) -> Signal | None:
    """A line of the vocabulary, or the member of a family."""
    if name in SIGNALS:
        return SIGNALS[name]
    _, _, last = name.rpartition(".")
    for family, before, after in _FAMILIES:
        # A statistic belongs to the member, not to its name: `time.save.max` is the largest of `time.save`.
        if (last not in STATISTICS or family.endswith(f".{last}")) and (
            len(name) > len(before) + len(after) and name.startswith(before) and name.endswith(after)
        ):
            return replace(SIGNALS[family], name=name, member=name[len(before) : len(name) - len(after)])
    return None


def _estimator(name: str) -> Signal | None:
    stem, _, last = name.rpartition(".")
    if last not in ESTIMATORS or stem not in DIVERGENCES:
        return None
    base = SIGNALS[stem]
    return replace(base, name=name, estimator=last, meaning=f"{base.meaning}, {last} estimator")


def _statistic(name: str) -> Signal | None:
    stem, _, last = name.rpartition(".")
    if last not in STATISTICS:
        return None
    base = _entry(stem) or _entry(f"{stem}.mean") or _estimator(stem)
    if base is None or last == "mean":
        return base
    return replace(
        base,
        name=f"{stem}.{last}",
        meaning=f"{STATISTICS[last]} of: {base.meaning}",
        better=None if last in _SPREAD else base.better,
        family=base.family and f"{base.family.removesuffix('.mean')}.{last}",
    )


def _held_out(name: str) -> Signal | None:
    trained = _lookup(name.removeprefix("eval.")) if name.startswith("eval.") else None
    if trained is None:
        return None
    return replace(
        trained,
        name=evaluation(trained.name),
        meaning=f"{trained.meaning}, on held-out data",
        link=Link.EVALUATION,
        family=trained.family and evaluation(trained.family),
    )


def evaluation(name: str) -> str:
    """The name of the same number on held-out data: `reward.mean` -> `eval.reward`, `turns.max` -> `eval.turns.max`."""
    if name.startswith("eval."):
        return name
    whole, at, part = name.partition("@")
    stem, _, last = whole.rpartition(".")
    stem, tail = (stem, "" if last == "mean" else f".{last}") if last in STATISTICS else (whole, "")
    held_out = f"{_EVALUATED[stem]}{tail}" if stem in _EVALUATED else f"eval.{whole}"
    return f"{held_out}{at}{part}"


def _spelled(name: str) -> str:
    """How a detector's signature asks for a signal: `kl.ref` is `kl_ref`, `moe.<what>.mean` is `moe_mean`."""
    return (re.sub(r"\.?<\w+>", "", name) if "<" in name else name).replace(".", "_")


def stand_ins(name: str) -> tuple[str, ...]:
    """Signals that may answer for `name` where it was not recorded, the best first."""
    estimators = tuple(f"{name}.{k}" for k in reversed(ESTIMATORS)) if name in DIVERGENCES else ()
    return estimators + _STAND_INS.get(name, ())


def _means() -> list[str]:
    return [*SIGNALS, *(f"{divergence}.{estimator}" for divergence in DIVERGENCES for estimator in ESTIMATORS)]


@cache
def all_names() -> tuple[str, ...]:
    """Every canonical name: entries, their statistics and estimators, and all of them on held-out data."""
    means = _means()
    spreads = [f"{mean.removesuffix('.mean')}.{s}" for mean in means for s in STATISTICS if s != "mean"]
    return tuple(dict.fromkeys([*means, *spreads, *map(evaluation, means), *map(evaluation, spreads)]))


class _ByParameter(Mapping[str, Signal]):
    """Every parameter that a detector may ask for. Means are what most ask for: all 13,000 names are spelled out for few."""

    @cached_property
    def _means(self) -> dict[str, str]:
        return {_spelled(name): name for mean in _means() for name in (mean, evaluation(mean))}

    @cached_property
    def _stems(self) -> dict[str, str]:
        return {_spelled(stem): stem for stem in (mean.removesuffix(".mean") for mean in _means())}

    @cached_property
    def _held_out(self) -> dict[str, str]:
        held_out = ((stem, evaluation(f"{stem}.max").removesuffix(".max")) for stem in self._stems.values())
        return {_spelled(name): stem for stem, name in held_out}

    @cached_property
    def _names(self) -> dict[str, str]:
        return {_spelled(name): name for name in all_names()}

    def __getitem__(self, key: str) -> Signal:
        stem, _, statistic = key.rpartition("_")
        if key in self._means:
            name = self._means[key]
        elif statistic in STATISTICS and stem in self._stems:
            name = f"{self._stems[stem]}.{statistic}"
        elif statistic in STATISTICS:
            name = evaluation(f"{self._held_out[stem]}.{statistic}")
        else:
            raise KeyError(key)
        signal = lookup(name)
        assert signal is not None
        return signal

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


BY_PARAMETER: Mapping[str, Signal] = _ByParameter()
