"""The critic's values have another scale than the returns.

Looks for: The difference of mean value and mean return over the second half of the run, divided by the size of the
returns: above `min_gap`. Where no returns are logged: a mean value beyond `beyond` times what episodes return, where
all returns have one sign; or beyond what an endless episode is worth, discounted, where every step pays the same. The
value of a state is what is still to come in its episode, so that no critic that is right lies beyond it. And the support
of a distribution of values (`v_min`, `v_max`) beside what episodes return, discounted.
Why: If the values are far from the returns, every advantage has the same sign. The policy then makes everything that it
does more probable, or everything less probable, and cannot tell good from bad. A method that acts by its values takes
what is only estimated for what pays: targets that go past the end of an episode, next observations that are overwritten
in the replay buffer, or a target network that follows at once.
False alarm: Values and returns that are normalised differently in the log. Returns close to 0, where a ratio says
little. Rewards that are scaled for training and not in the log; a discount so near to 1 that values go beyond a time
limit.
Fix:
- Normalise rewards or returns; start the last layer of the critic at the mean return.
- Raise the critic's learning rate; check the clipping of values.
Experiment: Train the critic alone on one frozen batch: its mean must reach the mean return within some hundred steps.
References: https://arxiv.org/abs/1602.07714
"""

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, from_point, seen_in, seen_since, warning
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.points import median, quantile
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Series
from firstbreak.values import replace
from firstbreak.words import number

ROLES = (Role.RELATION,)
STANDARDISED = 5.0  #: values that were divided by their deviation stay within this (convention)
OTHER_SIGN = 0.2  #: of the returns: a critic that starts to learn is nearer to 0 (convention)
ENTROPY = 1.0  #: nats a step: the targets of tuned coefficients are lower (convention)
FIRST = 3  #: rows (convention)
SAME_UNIT = 0.02  #: by so much two counts of the same differ (convention)
BEYOND = 1.3  #: times their length a mean return may be: they may be of other episodes (convention)
NOTHING = 0.05  #: of the score (convention)
ENDS, NEARLY = (
    0.8,
    0.01,
)  #: of the worth of an episode without end: what the longest one pays; and how near values are (convention)
LONG = 10  #: steps of an episode, and points (convention)
SAME = 0.002  #: of the pay of a step: what rounding of returns and lengths leaves (convention)


def detect(
    config: Config,
    critic_value: Series | None = None,
    returns_mean: Series | None = None,
    method: Method | None = None,
    reward_mean: Series | None = None,
    eval_reward: Series | None = None,
    episode_length: Series | None = None,
    policy: Policy = Policy.TEXT,
    alpha: Series | None = None,
    *,
    min_behind: float = at(
        0.25, "share", "Of the returns, in the second half: a critic that learns is nearer by then."
    ),
    min_steps: float = at(20.0, "steps", "Of the clip of the value: fewer are made up in a few updates."),
    min_gap: float = at(0.8, "share", "A critic that lags behind the returns is nearer to them than this."),
    beyond: float = at(1.2, "ratio", "Of the highest mean returns of an episode: a quantile leaves noise out."),
    far: float = at(1.5, "ratio", "Of the same: no noise and no lag of the policy explains so much."),
    min_points: int = at(10, "points", "Fewer points do not show more than the start of the critic."),
) -> Finding | NotMeasured | None:
    paid = reward_mean if reward_mean is not None else eval_reward
    if paid is not None and len(paid.finite) and (found := _outside_support(config, paid.finite, episode_length)):
        return found
    if (
        reward_mean is not None
        and episode_length is not None
        and (more := _more(config, reward_mean, episode_length, min_points))
    ):
        return more
    value_mean = critic_value
    if value_mean is None:
        return NotMeasured("no value of the critic is logged")
    if endless := _endless(config, value_mean.finite, episode_length, min_points):
        return endless
    if returns_mean is not None and (unpaid := _unpaid(reward_mean, returns_mean, policy, config, min_points)):
        return unpaid
    if returns_mean is not None:
        apart = _of_targets(config, value_mean, returns_mean, method, min_behind, min_steps, min_gap, min_points)
        if apart is not None or policy is not Policy.CONTROL:
            return apart
    if policy is not Policy.CONTROL or paid is None or len(value_mean.finite) < min_points:
        return (
            None
            if returns_mean is not None
            else NotMeasured("neither the critic's returns nor those of episodes are logged")
        )
    # soft values hold the entropy that is still to come
    soft = ENTROPY * (
        float(alpha.finite.values.max()) / (1 - min(config.number("gamma") or 0.0, 0.999)) if alpha is not None else 0.0
    )
    turned = _of_other_sign(value_mean.finite, paid.finite, soft, min_points)
    if turned is not None or reward_mean is None:
        return turned
    whole = _worth(config, reward_mean.finite, episode_length, min_points)
    if whole and method is Method.VALUE_BASED and (near := _near(config, value_mean.finite, episode_length, whole)):
        return near
    return _beyond_episodes(value_mean.finite, reward_mean.finite, eval_reward, whole, beyond, far, min_points, soft)


def _of_targets(
    config: Config,
    value_mean: Series,
    returns_mean: Series,
    method: Method | None,
    min_behind: float,
    min_steps: float,
    min_gap: float,
    min_points: int,
) -> Finding | NotMeasured | None:
    """Values in another scale than the returns that the critic is fitted to."""
    values, returns = value_mean.finite.tail(0.5), returns_mean.finite.tail(0.5)
    if min(len(values), len(returns)) < min_points:
        return NotMeasured(
            f"{min(len(values), len(returns))} points are too few to compare scales (needs {min_points})"
        )
    target = np.interp(values.steps, returns.steps, returns.values)
    size = float(np.median(np.abs(target)))
    gap = np.abs(values.values - target)
    clip = config.number("clip_range_value")
    behind = np.median(gap) > min_behind * size and (np.abs(values.values) < np.abs(target)).all()
    if clip and behind and np.median(gap) > min_steps * clip and not config.get("normalize_reward"):
        return _clipped(value_mean, returns_mean, values, returns, clip)
    if size == 0 or size < np.std(target) or np.median(gap) < min_gap * size:
        return None
    start = float(values.steps[0])
    harm = "its targets are wrong too" if method is Method.VALUE_BASED else "all advantages have the same sign"
    interval = (float(value_mean.steps[0]), start)
    return warning(
        "values are {values} where returns are {returns}: the critic has the wrong scale, so {harm}; normalise rewards or "
        "returns",
        seen_in(value_mean, "values", start, interval, metric="value.mean", beside={"returns": returns_mean}),
        values=facts.median(values),
        returns=facts.median(returns),
        harm=harm,
        confidence=Confidence.MEDIUM,
    )


def _clipped(value_mean: Series, returns_mean: Series, values: Series, returns: Series, clip: float) -> Finding:
    start = float(values.steps[0])
    return warning(
        "values are {values} where returns are {returns}, and an update moves a value by {clip} at most: the critic cannot "
        "follow; normalise the rewards, or turn the clip of the value loss off",
        seen_in(value_mean, "values", start, (float(value_mean.steps[0]), start), beside={"returns": returns_mean}),
        values=facts.median(values),
        returns=facts.median(returns),
        clip=number(clip),
    )


def _more(config: Config, returns: Series, length: Series, min_points: int) -> Finding | None:
    """What is called a return is more than the first episodes can pay, in a task whose steps all pay the same."""
    paid = environments.paid(config)
    if not paid or len(returns) < min_points or not np.array_equal(returns.steps, length.steps):
        return None
    ratio = returns.values[:FIRST] / (paid * length.values[:FIRST])
    if not (ratio > BEYOND).all() or _in_another_unit(returns.finite, paid * length.finite.values):
        return None
    return warning(
        "returns of {returned} stand beside episodes of {steps} steps that pay {paid} each: they hold what other episodes "
        "pay; check that sums and advantages begin anew at the end of an episode, and what is logged as return",
        seen_in(returns, "return", beside={"length of episodes": length}),
        returned=facts.first(returns.finite),
        steps=facts.first(length.finite),
        paid=number(paid),
    )


def _in_another_unit(returns: Series, steps: np.ndarray) -> bool:
    """Whether returns are what the steps pay in another unit, or with the same bonus for each episode."""
    if len(returns) != len(steps) or not steps.all():
        return False
    ratio, bonus = returns.values / steps, returns.values - steps
    return bool(min(np.ptp(ratio) / np.max(ratio), np.ptp(bonus) / np.max(steps)) < SAME_UNIT)


def _unpaid(score: Series | None, curve: Series, policy: Policy, config: Config, min_points: int) -> Finding | None:
    """Returns of texts that hold next to nothing of the score at their end."""
    if policy is not Policy.TEXT or score is None or config.get("normalize_reward"):
        return None
    rewards, returns = score.finite, curve.finite
    if min(len(rewards), len(returns)) < min_points:
        return None
    held, paid = np.abs(returns.values), median(np.abs(rewards.values))
    if paid == 0 or float(held.max()) > NOTHING * paid:
        return None
    return warning(
        "returns are {returned} where the score is {score}: the score reaches no token that counts; check at which position it "
        "is added, and the mask of the advantages",
        seen_in(returns, "returns", beside={"score": rewards}),
        returned=facts.median(returns),
        score=facts.median(rewards),
    )


def _outside_support(config: Config, returns: Series, length: Series | None) -> Finding | None:
    """The returns of episodes, discounted, lie beyond the values that a distribution can hold."""
    raw = {key.rpartition(".")[2]: value for key, value in config.raw.items()}
    low, high, gamma = raw.get("v_min"), raw.get("v_max"), config.number("gamma")
    if not isinstance(low, float | int) or not isinstance(high, float | int) or gamma is None:
        return None
    steps = median(length.finite.values) if length is not None and len(length.finite) else 1.0
    shrunk = (1 - gamma**steps) / ((1 - gamma) * steps) if gamma < 1 and steps > 1 else 1.0
    worth = shrunk * median(returns.values)
    if low <= worth <= high:
        return None
    return warning(
        "the values that the critic can hold go from {low} to {high}, and episodes return about {worth}, discounted: most "
        "states get the value of the bound; set v_min and v_max to what episodes can return",
        seen_in(returns, "return"),
        low=number(low),
        high=number(high),
        worth=number(worth),
    )


def _of_other_sign(values: Series, returns: Series, soft: float, min_points: int) -> Finding | None:
    """Values above 0 to the end where every episode returns less, or below it where every episode returns more."""
    sign = np.sign(returns.values[0]) if len(returns) >= min_points else 0.0
    if not sign or (returns.values * sign <= 0).any():
        return None
    least = max(STANDARDISED, OTHER_SIGN * median(np.abs(returns.values))) + soft
    first = for_good(values.values * sign < -least, 0.9)
    if first is None or len(values) - first < 3:
        return None
    return warning(
        "the mean value is {value}, and every episode returns {side} 0: the critic believes its own predictions; check the "
        "scale of the observations and the ends of episodes in the targets; with fixed data, stay closer to them",
        seen_since(
            values, "values", *from_point(values, first), metric="value.mean", beside={"return of episodes": returns}
        ),
        value=facts.settled(values),
        side="less than" if sign < 0 else "more than",
    )


def _worth(config: Config, returns: Series, length: Series | None, min_points: int) -> float | None:
    """What an episode without end is worth, discounted, where every step pays the same, as return over length shows."""
    gamma = config.number("gamma")
    if gamma is None or gamma >= 1 or length is None or not np.array_equal(length.finite.steps, returns.steps):
        return None
    steps = length.finite.values
    paid = returns.values / np.maximum(steps, 1)
    if len(steps) < min_points or steps.max() < 2 * steps.min() or np.ptp(paid) > SAME * paid.max():
        return None
    return float(median(paid)) / (1 - gamma)


def _endless(config: Config, values: Series, length: Series | None, min_points: int) -> Finding | None:
    """Values of exactly the reward of a step over 1 - gamma, in episodes that end long before that is paid."""
    gamma, late = config.number("gamma"), values.tail(0.25)
    if gamma is None or not 0.9 <= gamma < 1 or length is None or not len(length.finite) or len(late) < min_points:
        return None
    steps, whole = float(length.finite.values.max()), 1 / (1 - gamma)
    if 1 - gamma**steps > ENDS or np.max(np.abs(np.abs(late.values) - whole)) > NEARLY * whole:
        return None
    return warning(
        "values are {value}, which is 1 / (1 - gamma): what an episode without end is worth where a step pays 1, and episodes "
        "end after {steps} steps at most; check that targets and advantages stop where an episode ends",
        seen_in(values, "values", metric="value.mean", beside={"length of episodes": length}),
        value=facts.median(late),
        steps=facts.highest(length.finite),
    )


def _near(config: Config, values: Series, length: Series | None, whole: float) -> Finding | None:
    """Values of actions that hold the next reward or two, in episodes of many steps that all pay the same."""
    late, steps = values.tail(0.5), median(length.finite.values) if length is not None else 0.0
    paid = whole * (1 - (config.number("gamma") or 0.0))
    if steps < LONG or paid <= 0 or len(late) < LONG or not 0 < median(late.values) < 2 * paid:
        return None
    start = float(late.steps[0])
    return warning(
        "the mean value is {value} in the second half, where each step pays {paid} and episodes have {steps}: values hold "
        "the next reward alone; check that the target network gets the network's weights, and that no step is stored as an end",
        seen_in(values, "values", start, (float(values.steps[0]), start), metric="value.mean"),
        value=facts.median(late),
        paid=number(paid),
        steps=number(steps),
    )


def _beyond_episodes(
    values: Series,
    returns: Series,
    evaluation: Series | None,
    whole: float | None,
    beyond: float,
    far: float,
    min_points: int,
    soft: float,
) -> Finding | NotMeasured | None:
    """Values above what any episode returns, or is worth as a `whole`, from some update on to the end.

    `soft`: what the entropy that is still to come adds.
    """
    if len(returns) < min_points:
        return NotMeasured(f"{len(returns)} returns of episodes are too few (needs {min_points})")
    scores = evaluation.finite.tail(0.5).values if evaluation is not None else np.empty(0)
    if returns.values.max() < 0 and (not len(scores) or scores.max() < 0):  # costs: the same with the other sign
        values, returns = (replace(curve, values=-curve.values) for curve in (values, returns))
        scores = -scores
    if returns.values.min() < 0 or (len(scores) and scores.min() < 0):
        return None
    most = max(quantile(returns.values, 0.95), median(scores) if len(scores) else 0.0)
    worth = ""
    if whole is not None and 0 < whole < most:
        most, worth = whole, f", which is at most {number(whole)} with the discount, since every step pays the same"
    first = for_good(values.values > beyond * most + soft, 0.9) if most > 0 else None
    plain = first is not None and float(values.values[first:].min()) > 2 * beyond * most
    if first is None or len(values) - first < (min_points // 2 if plain else min_points):
        return None
    late = facts.settled(values)
    return warning(
        "the mean value is {value}, and episodes return {returned}{worth}: no state is worth more than its whole episode; "
        "check that targets stop at the end of an episode and have one factor gamma for each step, and that next "
        "observations in the buffer are copies",
        seen_since(
            values, "values", *from_point(values, first), metric="value.mean", beside={"return of episodes": returns}
        ),
        value=late,
        returned=facts.settled(returns),
        worth=worth,
        confidence=Confidence.HIGH if late.value >= far * most else Confidence.MEDIUM,
        numbers={"most": most},
    )
