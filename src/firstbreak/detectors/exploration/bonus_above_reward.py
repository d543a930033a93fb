"""A fixed entropy bonus pays more than the task does.

## What it looks for
A temperature that never moves (so it was set, and not tuned) and exceeds `times` the size of a step's reward: as recorded, else
the mean return over the mean length of an episode.

## Why it matters
Soft actor-critic maximises reward plus temperature times entropy. Where a nat of entropy is worth more than a step of the task,
the best policy is a random one, and the critic learns to say so.

## When it is a false alarm
Returns in which rewards and penalties cancel, where the size of a step's reward is not recorded.

## Fix
- Let the temperature be tuned ({entropy_coef} "auto"), or set it to a tenth of a step's reward.
- Normalise rewards to the order of 1.

## Smallest experiment
The same run with the temperature divided by 100, for a tenth of its length.

## References
https://arxiv.org/abs/1812.05905
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    alpha: Series,
    reward_mean: Series | None = None,
    episode_length: Series | None = None,
    env_reward_size: Series | None = None,
    writes_text: bool | None = None,
    *,
    times: float = 1.5,
    min_points: int = 4,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("the temperature of a sampler is no bonus")
    fixed, step = alpha.finite, _step_reward(env_reward_size, reward_mean, episode_length)
    if len(fixed) < min_points or not step:
        return NotMeasured(f"the temperature is logged {len(fixed)} times, or no size of a step's reward is known")
    level = float(fixed.values[0])
    if np.ptp(fixed.values) > 0 or level <= times * step:
        return None
    first = float(fixed.steps[0])
    return Finding(
        message=(
            f"a nat of entropy is worth {number(level)} all along, a step of the task {number(step)}: acting at random pays "
            "more than the task; let the temperature be tuned"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=fixed.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="temperature", series=fixed, level=step),),
        facts={"temperature": level, "step_reward": step},
    )


def _step_reward(recorded: Series | None, returns: Series | None, lengths: Series | None) -> float | None:
    """The size of one step's reward."""
    if recorded is not None and len(recorded.finite):
        return float(np.median(recorded.finite.values))
    if returns is None or lengths is None or not len(returns.finite) or not np.median(lengths.finite.values) > 0:
        return None
    return float(np.median(np.abs(returns.finite.values)) / np.median(lengths.finite.values))
