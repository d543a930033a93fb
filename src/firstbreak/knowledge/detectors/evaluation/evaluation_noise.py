"""The evaluation is too noisy, or too easy, to show the gain of the run.

Looks for: The standard error of an evaluation where its episodes are recorded, else the scatter of neighbouring
evaluations about a slow curve. This noise is compared with the gain that the evaluation should show: its own gain, or
the gain of the training reward where both are rewards. Also an evaluation that is exactly 1 from its first value on,
while training, a share as well, rose from less than a half.
Why: The best of several noisy evaluations is best by luck. Checkpoints, learning rates and seeds are then chosen by
noise, and a real regression is not seen.
False alarm: The policy itself changes much from one evaluation to the next (as in off-policy methods): then the same
checkpoint, evaluated twice, gives the same score. Where every episode of the evaluations is recorded, the two can be
separated.
Fix:
- Evaluate on problems as hard as those of training.
- Evaluate on more episodes or prompts: the noise falls with the square root of the number.
- Use the same prompts and seeds at every evaluation, so that differences are paired.
- Compare checkpoints by the mean of several evaluations.
Experiment: Evaluate the last checkpoint twice with different seeds. If the two scores differ by as much as the run
gained, this evaluation cannot rank checkpoints.
References: https://arxiv.org/abs/1709.06560 https://arxiv.org/abs/2108.13264
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_in, warning
from firstbreak.engine.families import Method, Policy, without
from firstbreak.engine.stats.agreement import shares
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity, Statistic
from firstbreak.words import number

FAMILIES = without(Method.SUPERVISED)
UNSOLVED = (
    0.5  #: share: a training that begins lower has harder problems than an evaluation that is solved (convention)
)
MANY = 100  #: times as many samples: beyond it the gain itself is hardly known


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    score_error: Series | None = None,
    eval_reward_std: Series | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    max_noise: float = at(0.5, "share", "of the gain: more noise hides the gain"),
    wanted_noise: float = at(0.2, "share", "of the gain: with so little the curve shows it well"),
    min_visible_gain: float = at(0.1, "share", "of right answers: what an evaluation should show"),
    min_evaluations: int = at(6, "evaluations", "with fewer evaluations their scatter is not known"),
    evaluations_warning: int = at(12, "evaluations", "with fewer their scatter is hardly known"),
) -> Finding | NotMeasured | None:
    enough(eval_score, min_evaluations, "evaluations", "to know their noise")
    if (
        np.all(eval_score.values == 1)
        and reward_mean is not None
        and (easy := _too_easy(eval_score, reward_mean.finite))
    ):
        return easy
    # the number of problems tells the least that a share is uncertain by, and its episodes tell all of it
    known = score_error is not None and eval_reward_std is not None and eval_score.name == "eval.reward"
    noise = float(np.median(score_error.finite.values)) if known and score_error else noise_scale(eval_score.values)
    gain = _gain(eval_score, reward_mean, min_visible_gain)
    if gain is None and reward_mean is None:
        return NotMeasured("neither the evaluation nor a training reward shows a gain to compare the noise with")
    late = noise if known else noise_scale(eval_score.tail(0.5).values)  # a rise at once looks like noise
    if gain is None or min(noise, late) < max_noise * gain:
        return None
    more = np.ceil((noise / (wanted_noise * gain)) ** 2)  # the noise of a mean falls with the square root
    return graded(
        Severity.NOTICE if len(eval_score) < evaluations_warning else Severity.WARNING,
        "the evaluation is too noisy: one is uncertain by {noise}, and has to show a change of {gain}, so that the curve "
        "shows neither a regression nor the best checkpoint; evaluate on {more} times as many {samples}",
        seen_in(eval_score, f"evaluations, noise {number(noise)}", beside={"training reward": reward_mean}),
        noise=facts.median(score_error.finite) if known and score_error else facts.of(Statistic.NOISE, eval_score),
        gain=number(gain),
        more=f"about {number(more)}" if more <= MANY else f"more than {MANY}",
        samples="prompts" if policy is Policy.TEXT else "episodes",
        confidence=Confidence.LOW if len(eval_score) < evaluations_warning else Confidence.MEDIUM,
        numbers={"noise": noise, "gain": gain},
    )


def _too_easy(scores: Series, rewards: Series) -> Finding | None:
    """An evaluation of which all was solved before training began, where training itself, also a share, began far below."""
    training = shape_of(rewards)
    if not training.learned or training.start > UNSOLVED or not shares(scores, rewards):
        return None
    if scores.steps[0] > rewards.steps[1]:
        return None  # solved since, as far as is known
    return warning(
        "all of {n} evaluations are exactly 1, while training rose from {start} to {end}: their problems were solved before "
        "training began, so that they measure nothing; evaluate on problems as hard as those of training",
        seen_in(scores, "evaluation", level=1.0, beside={"training reward": rewards}),
        n=facts.count(scores),
        start=facts.start(rewards, training),
        end=facts.end(rewards, training),
    )


def _gain(eval_score: Series, reward_mean: Series | None, min_gain: float) -> float | None:
    """What the evaluation has to show: the gain of training where both have one unit, else its own, or `min_gain`.

    An evaluation that has shown a loss can show a loss, whatever training says.
    """
    own, trained = shape_of(eval_score), shape_of(reward_mean) if reward_mean is not None else None
    if own.lost and own.drop_interval[0] > 0:
        return max(own.drop, own.gain)
    own_gain = own.gain if own.learned else None
    if trained is None or not trained.learned or trained.lost:
        return own_gain
    return trained.gain if eval_score.name == "eval.reward" else max(own_gain or 0.0, min_gain)
