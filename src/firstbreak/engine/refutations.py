"""What a run can show that a cause denies. A cause names those that refute it (`refuted_by`).

Each function returns what was logged, as a sentence, where it contradicts the cause, else None.
"""

from collections.abc import Callable

import numpy as np

from firstbreak.engine.common_settings import in_force
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats.points import median, quantile
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Series
from firstbreak.values import replace
from firstbreak.words import number, percent

Refutation = Callable[[Inputs], str | None]

CONTRADICTED = -4.0  #: nats: what the run logged is hardly possible under the cause (convention)
DENIED = -7.0  #: nats: an identity that holds is as sure as one that fails (likelihood.FALSE_PROOF)
NEARLY_ALL = 0.9  #: share of the completions that are right: equal groups are right ones then (convention)
GOOD = 0.5  #: share of the highest possible score: a model that reaches it understands its prompts (convention)
FIRST = 3  #: points that show how a run begins (convention)
RARELY = 0.02  #: share of cut completions that no score notices (convention)
#: standard errors between surprise and entropy that sampling from the policy itself stays within (convention)
AS_EXPECTED = 4.0
LONGER = 1.2  #: ratio of two lengths: more than a wobble (convention)
CLEAR = 3.0  #: standard errors between two levels of a score (convention)
ALIKE = 0.05  #: of the later distance of two engines: rounding leaves less at first (convention)
EQUAL = 1e-4  #: distance of a ratio from 1 that 32-bit arithmetic leaves (convention)
ROUNDING = 0.01  #: relative: single precision and 16-bit rewards leave less (convention)
MORE = 0.1  #: share of completions that are cut later and were not cut first (convention)
APART = ("rollout_train.kl", "rollout_train.logp_absdiff", "rollout_train.prob_absdiff", "behave.kl")
_SHARES = ("accuracy", "success_rate", "pass_at")


def scored_well_at_first(inputs: Inputs) -> str | None:
    """The first scores are good: the prompts are understood, and the answers fit."""
    share = _share(inputs)
    if share is None or len(share) < FIRST:
        return None
    level = float(np.mean(share.values[:FIRST]))
    return f"{share.name} is {number(level)} in the first points, of at most 1" if level >= GOOD else None


def nearly_all_right(inputs: Inputs) -> str | None:
    """Rewards between 0 and 1 that are nearly all 1: groups are equal because they are right."""
    reward = inputs.run.series.get("reward.mean")
    if reward is None or len(reward.finite) < FIRST:
        return None
    values, late = reward.finite.values, median(reward.finite.tail(0.5).values)
    if values.min() < 0 or values.max() > 1 or late < NEARLY_ALL:
        return None
    return f"the mean reward is {number(late)} in the second half, of at most 1: equal groups are right ones"


def scores_well(inputs: Inputs) -> str | None:
    """The score is good: the task is neither too hard nor unrewarded."""
    share = _share(inputs)
    if share is None or len(share) < FIRST:
        return None
    level = median(share.tail(0.25).values)
    return f"{share.name} is {number(level)} in the last quarter, of at most 1" if level >= GOOD else None


def learned(inputs: Inputs) -> str | None:
    """The score got better than it began: the goal is reached now and then."""
    shape = inputs.trajectory
    if shape is None or inputs.score is None or not shape.learned:
        return None
    return f"{inputs.score.name} rose from {number(shape.start)} to {number(shape.best)}"


def training_improved(inputs: Inputs) -> str | None:
    """The training reward beside an evaluation ends far above its start: the updates raise what is rewarded."""
    reward = inputs.second_score
    if reward is None:
        return None
    shape = trajectory(reward)
    if not shape.end - shape.start > CLEAR * 2**0.5 * shape.level_noise:
        return None
    return f"{reward.name} rose from {number(shape.start)} to {number(shape.end)} in training"


def paid_less_as_it_grew(inputs: Inputs) -> str | None:
    """The reward, in training or in evaluation, fell since its best level while completions grew."""
    length, evaluation = inputs.length_mean, inputs.eval_score
    rewards = [
        inputs.training_score,
        evaluation if evaluation is not None and evaluation.name == "eval.reward" else None,
    ]
    for reward in rewards:
        if reward is None or length is None or not (shape := trajectory(reward)).lost:
            continue
        at_best = length.finite.between(shape.best_step)
        if len(at_best) < FIRST:
            continue
        then, now = median(at_best.head(0.1).values), median(at_best.tail(0.1).values)
        if now > LONGER * then:
            grew = f"completions grew from {number(then)} to {number(now)} tokens"
            return f"{reward.name} fell while {grew}: longer ones are not paid more"
    return None


def hardly_any_is_cut(inputs: Inputs) -> str | None:
    """Completions end by themselves, or were cut as often when they scored well."""
    cut = inputs.truncation
    if cut is not None and len(cut.finite) >= FIRST:
        shares = cut.finite.values
        if quantile(shares, 0.9) <= RARELY:
            return f"hardly any completion is cut ({percent(float(np.mean(shares)))})"
        if float(np.max(shares[FIRST:], initial=0.0)) - float(np.mean(shares[:FIRST])) > MORE:
            return None
    return scored_well_at_first(inputs)


def drawn_from_the_policy(inputs: Inputs) -> str | None:
    """Whenever it was measured, sampled tokens surprised the policy as much as its entropy says: nothing changed the samples."""
    largest = _largest(inputs, "proof.sampling_z")
    if largest is None or largest > AS_EXPECTED:
        return None
    return f"sampled tokens surprise the policy as its entropy says (within {number(largest)} standard errors)"


def without_dropout(inputs: Inputs) -> str | None:
    """Log-probabilities are the same in training and in evaluation mode."""
    largest = _largest(inputs, "proof.dropout")
    return "training mode changes no log-probability" if largest == 0 else None


def mask_exact(inputs: Inputs) -> str | None:
    """The mask of the loss is 1 on the sampled tokens and 0 elsewhere."""
    outside, missing = _largest(inputs, "proof.mask_extra"), _largest(inputs, "proof.mask_missing")
    return "the mask of the loss is 1 on the sampled tokens and 0 elsewhere" if outside == missing == 0 else None


def stored_right_at_first(inputs: Inputs) -> str | None:
    """The ratio was 1 at first, and is not from some batch on: the weights that sample stay behind."""
    ratio = inputs.run.series.get("proof.ratio_first")
    if ratio is None or len(ratio.finite) < FIRST:
        return None
    values = ratio.finite.values
    later = int(np.argmax(values > 10 * EQUAL))
    if values[0] > EQUAL or not later or median(values[later:]) <= 10 * EQUAL:
        return None
    return f"the ratio was 1 at first, and {number(values[later])} away from it later: other weights sampled"


def apart_at_once(inputs: Inputs) -> str | None:
    """Sampler and trainer differ as much in the first update as later, when no weights could be old."""
    for apart in _engines(inputs):
        if apart.values[0] > max(EQUAL, median(apart.values) / 5):
            return f"{apart.name} is {number(apart.values[0])} in the first update already: no weights are old yet"
    return None


def agreed_at_first(inputs: Inputs) -> str | None:
    """Sampler and trainer gave the same tokens the same probabilities until the first update: both compute alike."""
    for apart in _engines(inputs):
        if apart.values[0] < ALIKE * median(apart.tail(0.5).values):
            return f"{apart.name} was {number(apart.values[0])} at first: both engines compute alike, and weights went apart"
    return None


def _engines(inputs: Inputs) -> list[Series]:
    """How far sampler and trainer are apart, from the first update on, by every measure that is logged."""
    named = (s for name, s in inputs.run.series.items() if name.startswith(APART) and not name.endswith("max"))
    found = [replace(s.finite, values=abs(s.finite.values)) for s in (inputs.engines_kl, *named) if s is not None]
    return [s for s in found if len(s) >= FIRST and s.steps[0] <= 1]


def ratio_is_one(inputs: Inputs) -> str | None:
    """Two passes over a batch give the same log-probabilities before an update: nothing random is in them."""
    largest = _largest(inputs, "proof.ratio_first")
    return "two passes give the same log-probabilities" if largest is not None and largest <= EQUAL else None


def groups_of_one_prompt(inputs: Inputs) -> str | None:
    """Every group has one prompt, and no advantage has the baseline of another one."""
    mixed, regrouped = _largest(inputs, "proof.group_mixed"), _largest(inputs, "proof.advantage_regrouped")
    return "every group has one prompt, and its own baseline" if mixed == 0 and not regrouped else None


def groups_differ(inputs: Inputs) -> str | None:
    """Within most groups the rewards differ, and so do the completions."""
    mixed, equal = inputs.run.series.get("reward.baseline_mixed_frac"), inputs.zero_variance_groups
    shares = mixed.finite.values if mixed is not None else 1 - equal.finite.values if equal is not None else np.zeros(0)
    if not len(shares) or median(shares) < 0.5:
        return None
    return f"rewards differ in {percent(median(shares))} of the groups"


def advantages_of_the_rewards(inputs: Inputs) -> str | None:
    """The advantages are what the rewards give, row by row."""
    error, displaced = _largest(inputs, "proof.advantage_error"), _largest(inputs, "proof.advantage_displaced")
    if displaced:  # right in the rollout, and not in the minibatches
        return None
    return "the advantages are what the rewards give, row by row" if error is not None and error <= ROUNDING else None


def right_answer_first(inputs: Inputs) -> str | None:
    """The right answer gets no less than an empty text, whenever both were scored."""
    turned = _largest(inputs, "proof.reward_turned")
    return "the right answer never gets less than an empty text" if turned == 0 else None


def rewards_are_numbers(inputs: Inputs) -> str | None:
    """Every mean reward of a batch that was logged is a number."""
    reward = inputs.run.series.get("reward.mean")
    if reward is None or not len(reward) or len(reward.finite) < len(reward):
        return None
    return f"each of the {len(reward)} values of {reward.name} is a number"


def right_ones_unpaid(inputs: Inputs) -> str | None:
    """Right completions occur, and get no more than wrong ones."""
    unpaid = inputs.run.series.get("proof.reward_unpaid")
    if unpaid is None or len(unpaid.finite) < FIRST or median(unpaid.finite.values) < GOOD:
        return None
    return f"right completions occur, and {percent(median(unpaid.finite.values))} of them get no more than wrong ones"


def _largest(inputs: Inputs, name: str) -> float | None:
    """The largest distance of an identity from 0; None if it was measured too rarely."""
    measured = inputs.run.series.get(name)
    return float(np.max(np.abs(measured.finite.values))) if measured and len(measured.finite) >= FIRST else None


def no_penalty(inputs: Inputs) -> str | None:
    """There is no KL penalty."""
    return _is_zero(inputs, "kl_coef")


def no_bonus(inputs: Inputs) -> str | None:
    """There is no entropy bonus."""
    return _is_zero(inputs, "entropy_coef")


def no_update(inputs: Inputs) -> str | None:
    """Nothing is updated: no step can be too large."""
    return _is_zero(inputs, "learning_rate")


def sampled_at_one(inputs: Inputs) -> str | None:
    """Rollouts are sampled at a temperature of 1 or more."""
    value = in_force(inputs.run, "temperature")
    return f"the sampling temperature is {number(value)}" if value is not None and value >= 1 else None


def _is_zero(inputs: Inputs, name: str) -> str | None:
    return f"{inputs.run.config.option(name)} is 0" if in_force(inputs.run, name) == 0 else None


def _share(inputs: Inputs) -> Series | None:
    """A score that lies between 0 and 1 by its nature, or a mean reward of texts whose rewards all do."""
    score = inputs.score
    if score is None or not len(score.finite):
        return None
    if any(word in score.name for word in _SHARES):
        return score.finite
    checked = next((s.finite for s in inputs.answer_parts.values()), None) if inputs.answer_parts else None
    curve = checked if checked is not None and len(checked) else score.finite
    lowest, highest = float(curve.values.min()), float(curve.values.max())
    return curve if lowest >= 0 and GOOD <= highest <= 1 else None


#: measured inside the trainer: these hold against what is proved too
INSIDE = frozenset(
    {
        drawn_from_the_policy,
        without_dropout,
        mask_exact,
        right_ones_unpaid,
        stored_right_at_first,
        ratio_is_one,
        advantages_of_the_rewards,
        right_answer_first,
    }
)
