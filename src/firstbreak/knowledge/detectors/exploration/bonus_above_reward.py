"""The entropy coefficient rewards randomness more than the task.

Looks for: An entropy coefficient (the temperature of SAC) that never changes, so it was set and not tuned, and that
exceeds `ratio_warning` times the size of the reward of one step: as recorded, or else the mean return divided by the
mean length of an episode. A coefficient that is tuned counts where it does not fall, the score is flat, and the bonus of
a step (coefficient times entropy) exceeds `tuned_warning` times the reward of a step.
Why: Soft actor-critic maximises reward plus entropy coefficient times entropy. If a nat of entropy is worth more than
one step of the task, the best policy is a random one, and the critic learns this.
False alarm: Returns in which rewards and penalties cancel, if the size of the reward of a step is not recorded.
Fix:
- Tuned: lower the target entropy ({target_entropy}); 0.5 of the logarithm of the number of actions is a usual start.
- Let the entropy coefficient be tuned ({entropy_coef} "auto"), or set it to a tenth of the reward of a step.
- Normalise the rewards to a size of about 1.
Experiment: The same run with the entropy coefficient divided by 100, for a tenth of its length.
References: https://arxiv.org/abs/1812.05905
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Finding, NotApplicable, NotMeasured, Series
from firstbreak.words import number

FAMILIES = only(Policy.CONTROL, why="the temperature of a sampler is no entropy coefficient")


def detect(
    alpha: Series,
    reward_mean: Series | None = None,
    episode_length: Series | None = None,
    env_reward_size: Series | None = None,
    policy_entropy: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    ratio_warning: float = at(1.5, "ratio", "From 1 on, a nat is worth more than a step."),
    tuned_warning: float = at(10.0, "ratio", "Of the bonus of a step: a tuned coefficient falls long before that."),
    min_tuned: int = at(20, "points", "Fewer values do not show where a tuned coefficient goes."),
    min_points: int = at(4, "points", "Fewer values do not show a fixed coefficient."),
) -> Finding | NotApplicable | NotMeasured | None:
    fixed, step = alpha.finite, _step_reward(env_reward_size, reward_mean, episode_length)
    if len(fixed) < min_points or not step:
        return NotMeasured(
            f"the entropy coefficient is logged {len(fixed)} times, or the size of the reward of a step is not known"
        )
    level = float(fixed.values[0])
    if np.ptp(fixed.values) > 0:
        stuck = trajectory is not None and trajectory.kind == "flat" and policy_entropy is not None
        return (
            _tuned(fixed, policy_entropy, step, tuned_warning, min_tuned)
            if stuck and policy_entropy is not None
            else None
        )
    if level <= ratio_warning * step:
        return None
    return warning(
        "a nat of entropy is worth {level} during the whole run, and a step of the task {step}: acting at random earns "
        "more than the task; let the entropy coefficient be tuned",
        seen_in(fixed, "entropy coefficient", level=step),
        level=facts.first(fixed),
        step=number(step),
        numbers={"temperature": level, "step_reward": step},
    )


def _tuned(alpha: Series, entropy: Series, step: float, most: float, min_points: int) -> Finding | None:
    """A coefficient that is tuned, and does not fall although its bonus is far more than a step of the task pays."""
    late = alpha.tail(0.5)
    bonus = median(alpha.tail(0.25).values) * median(entropy.finite.tail(0.25).values)
    falls = median(alpha.tail(0.25).values) < median(late.head(0.5).values)
    if len(alpha) < min_points or bonus <= most * step or falls:
        return None
    return warning(
        "a step earns {bonus} for its entropy and {step} from the task, and the coefficient that is tuned does not fall "
        "({alpha}): its target lies at the entropy of random actions; lower the target entropy",
        seen_in(alpha, "entropy coefficient", float(late.steps[0]), (float(alpha.steps[0]), float(late.steps[0]))),
        bonus=number(bonus),
        step=number(step),
        alpha=facts.median(alpha.tail(0.25)),
        numbers={"bonus": bonus, "step_reward": step},
    )


def _step_reward(recorded: Series | None, returns: Series | None, lengths: Series | None) -> float | None:
    """The size of the reward of one step."""
    if recorded is not None and len(recorded.finite):
        return float(np.median(recorded.finite.values))
    if returns is None or lengths is None or not len(returns.finite) or not np.median(lengths.finite.values) > 0:
        return None
    return float(np.median(np.abs(returns.finite.values)) / np.median(lengths.finite.values))
