"""Rewards of episodes, of the evaluation or of the critic have different scales.

Looks for: The mean training return divided by the evaluation's, at every evaluation where both are positive or both are
negative: above `min_ratio`, or below 1 / `min_ratio`, in the whole run. And where all returns have one sign: the values
of the critic beside what one step pays. A critic that fits its targets, with values below `unpaid` of that, learns from
other rewards. And the mean rewards of a training batch, or of the replay buffer: 0 in `zeros` of the rows, and below
`unpaid` of what one step pays.
Why: The loss of the critic grows with the square of the rewards. With rewards that are hundreds of times too large, the
critic's gradient fills the clipped norm, the policy's part becomes nearly 0, and nothing is learned. With rewards that
are hundreds of times too small, neither of the two learns.
False alarm: Rewards that are clipped to -1, 0 and 1, as in Atari games: training counts whole events, and the
evaluation the points of the game. A wrapper that rescales rewards on purpose, with a critic that learns well. An
evaluation of another task.
Fix:
- Bring returns to a size of 1 to 100: divide rewards by their running standard deviation.
- Log the unscaled return beside the scaled one.
Experiment: Divide the rewards by the factor for a tenth of the run: the policy must change more in each update, and the
score must rise.
References: https://arxiv.org/abs/2005.12729
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.model import Config, Expected, Finding, NotApplicable, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern
from firstbreak.words import number

WHOLE = 0.9  #: share of returns that are whole numbers; a mean of two episodes may be a half (convention)
STORED = pattern(r"(batch|buf|buffer|replay|stored)_?(rewards?|rews?)(_?(mean|avg|abs))?", re.IGNORECASE)
SAME_FACTOR = 2.0  #: between the ninth and the first decile (convention)
RARE = 10  #: steps that pay, which the batches must hold even where only one of an episode does (convention)
ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL, why="rewards of text are often weighted sums that the evaluation does not share")


def detect(
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    episode_length: Series | None = None,
    value_mean: Series | None = None,
    value_loss: Series | None = None,
    loss_total: Series | None = None,
    run: Run | None = None,
    evaluation_lacks: str | None = None,
    config: Config | None = None,
    *,
    unpaid: float = at(0.2, "share", "A value holds at least the next reward."),
    zeros: float = at(0.9, "share", "A batch without any reward is usual where few steps pay, and its mean is right."),
    min_ratio: float = at(12.0, "ratio", "Exploration and running means change the ratio too, but by less than this."),
    min_points: int = at(5, "points", "Fewer pairs of a return and an evaluation show no constant ratio."),
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    trained = next(
        (s.finite for s in (reward_mean, reward_episode) if s is not None and len(s.finite) >= min_points), None
    )
    if trained is not None and run is not None and trained.values.all():
        steps = _steps(episode_length, run.series.get("progress.episodes"))
        if (zero := _zero(run, trained, steps, zeros, unpaid)) is not None:
            return _not_stored(trained, zero)
    fitted = value_loss if value_loss is not None else loss_total
    critic = [s.finite for s in (episode_length, value_mean, fitted) if s is not None and len(s.finite) >= min_points]
    if trained is not None and len(critic) == 3:
        length, value, loss = critic
        if (found := _never_paid(trained, length, value, loss, unpaid)) is not None:
            return found
    if trained is None or eval_reward is None or len(scores := eval_reward.finite) < min_points:
        if trained is not None and len(critic) == 3:
            return None
        return NotMeasured(f"fewer than {min_points} training returns and evaluations")
    if evaluation_lacks is not None:
        return NotApplicable(
            f"only the training environment has {evaluation_lacks}: the returns are those of two tasks"
        )
    there = np.interp(scores.steps, trained.steps, trained.values)
    same = there * scores.values > 0
    if np.sum(same) < min_points:
        return NotMeasured("training return and evaluation have different signs")
    ratios = np.abs(there[same] / scores.values[same])
    low, high = (float(q) for q in np.quantile(ratios, [0.1, 0.9]))
    if not (low > min_ratio or high < 1 / min_ratio):
        return None
    moved, judged = (np.quantile(np.abs(side[same]), [0.1, 0.9]) for side in (there, scores.values))
    if moved[1] > SAME_FACTOR * moved[0] and judged[1] < SAME_FACTOR * judged[0]:
        return None  # a factor would let the evaluation move with the returns
    if high < 1 / min_ratio and np.mean(trained.values == np.round(trained.values)) >= WHOLE:
        return Expected(
            "training returns are whole numbers, and smaller: rewards are clipped in training as in Atari games"
        )
    if low > min_ratio and config is not None and config.get("normalize_reward"):
        return None  # `evaluation-left-behind` tells of an evaluation that is normalised, and training returns that are not
    factor, start = float(np.median(ratios)), float(trained.steps[0])
    return warning(
        "training returns are {factor} times those of the evaluation in the whole run: training scales the rewards, and the "
        "loss of the critic with the square of that factor; bring returns to a size of 1 to 100",
        seen_in(trained, "training return", start, beside={"evaluation": scores}),
        factor=number(factor),
        numbers={"factor": factor},
    )


def _steps(length: Series | None, episodes: Series | None) -> float | None:
    """The steps of an episode, as logged or by the number of episodes so far."""
    if length is not None and len(length.finite):
        return median(length.finite.values)
    ended = float(np.ptp(episodes.values)) if episodes is not None and episodes.axis != "row" and len(episodes) else 0.0
    return float(np.ptp(episodes.steps)) / ended if episodes is not None and ended > 0 else None


def _zero(run: Run, returns: Series, steps: float | None, zeros: float, unpaid: float) -> Series | None:
    """The mean rewards of the batch or the buffer, where they are far below those of the episodes."""
    if steps is None:
        return None
    least = max(RARE, RARE * steps / (run.config.number("batch_size") or 32))
    logged = (
        s.finite for s in (*run.series.values(), *run.unknown.values(), *run.duplicates) if s.axis == returns.axis
    )
    for one in (s for s in logged if STORED.fullmatch((s.raw or s.name).rpartition("/")[2]) and len(s) >= least):
        paid = abs(float(one.values.mean())) * steps
        if np.mean(one.values == 0) >= zeros and paid < unpaid * abs(median(returns.values)):
            return one
    return None


def _not_stored(returns: Series, zero: Series) -> Finding:
    return warning(
        "{name} is {level} on average over {n} rows, and episodes return {returns}: what is stored is not what they pay; "
        "print the rewards of a batch, with their data type",
        seen_in(zero, "stored rewards", beside={"return": returns}),
        name=zero.raw or zero.name,
        level=facts.mean(zero),
        n=facts.count(zero),
        returns=facts.median(returns),
    )


def _never_paid(returns: Series, length: Series, value: Series, loss: Series, unpaid: float) -> Finding | None:
    """The critic has fitted its targets, and they do not hold what the episodes pay."""
    late, values, errors = (s.tail(0.5) for s in (returns, value, loss))
    if not (late.values.min() > 0 or late.values.max() < 0):
        return None
    per_step = median(np.abs(late.values)) / max(median(length.tail(0.5).values), 1.0)
    if max(median(np.abs(values.values)), median(np.abs(errors.values)) ** 0.5) > unpaid * per_step:
        return None
    return warning(
        "the critic's mean value is {value} with a loss of {loss}, and episodes pay {per_step} a step: it learns from other "
        "rewards than those of the episodes; print the rewards of a batch as they are stored, with their data type",
        seen_in(returns, "return", metric=value.name, beside={"mean value": value}),
        value=facts.median(values),
        loss=facts.median(errors),
        per_step=number(per_step),
        numbers={"per_step": per_step},
    )
