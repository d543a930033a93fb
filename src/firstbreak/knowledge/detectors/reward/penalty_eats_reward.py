"""The penalty takes more than the task reward gains.

## What it looks for
Where the reward is logged before and after penalties: the distance of the two grows, the reward that is trained on ends
below its own start, and the task reward does not fall by as much.

## Why it matters
The policy is trained on the reward after penalties. Where the KL or length penalty grows faster than the task reward, each
update makes the policy pay more for what it already has, and the task reward stops rising.

## When it is a false alarm
A penalty that is switched on later on purpose. Rewards that are normalised have no level to compare.

## Fix
- Lower {kl_coef}, or use an adaptive coefficient with a target.
- Log each penalty by itself, and find the one that grows.
- Lower {learning_rate}: a divergence that grows by itself says that the updates are too large.

## Smallest experiment
Twenty steps from the last checkpoint with half of {kl_coef}: if the task reward rises again, the penalty held it down.

## References
https://arxiv.org/abs/1909.08593
"""

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.engine.stats.direction import departure, falls
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    reward_mean: Series,
    reward_shaped_mean: Series,
    *,
    min_part: float = at(0.7, "share", "Of the task reward's gain: a smaller penalty leaves most of the gain."),
    min_size: float = at(1.0, "standard deviations", "Of the reward after penalties from step to step."),
    min_points: int = at(20, "points", "Fewer rewards show no trend."),
) -> Finding | NotMeasured | None:
    task, shaped = reward_mean.finite, reward_shaped_mean.finite
    steps, i, j = np.intersect1d(task.steps, shaped.steps, return_indices=True)
    if len(steps) < min_points:
        return NotMeasured(f"{len(steps)} steps with both rewards are too few (needs {min_points})")
    quarter = max(3, len(steps) // 4)
    paid = task.values[i] - shaped.values[j]
    grown = float(np.median(paid[-quarter:]) - np.median(paid[:quarter]))
    shape = shape_of(shaped)
    gain = float(
        np.max([np.median(part) for part in np.array_split(task.values[i], 8)]) - np.median(task.values[i][:3])
    )
    lost = float(np.median(shaped.values[-quarter:]) - np.median(shaped.values[:quarter]))
    own = float(np.median(task.values[-quarter:]) - np.median(task.values[:quarter]))
    if (
        grown < max(min_part * gain, min_size * noise_scale(shaped.values))
        or lost >= 0
        or own < 0.5 * lost  # the task reward itself falls: another finding
        or not (shape.lost or falls(shaped))
    ):
        return None
    since = departure(shaped.between(shape.best_step), direction=-1) if shape.lost else departure(shaped, direction=-1)
    return Finding(
        message=(
            f"the penalty grew by {number(grown)} and the task reward gained {number(gain)}: the reward after the KL "
            f"penalty, which is what is trained on, fell by {number(-lost)}; lower the coefficient of the penalty"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=shaped.name,
        onset=since[0] if since else None,
        interval=since[1] if since else None,
        evidence=(
            Evidence(text="task reward", series=reward_mean),
            Evidence(text="reward after penalties", series=reward_shaped_mean, since=since[0] if since else None),
        ),
        numbers={"penalty": grown, "gain": gain},
    )
