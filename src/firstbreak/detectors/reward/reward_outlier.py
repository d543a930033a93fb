"""A few extreme rewards dominate the gradient.

## What it looks for
The largest or smallest reward of a step, against the typical spread of the step means: values more than `far` spreads
away that come again and again.

## Why it matters
The advantage scales with the reward. One reward of 100 among rewards of 1 makes its trajectory the whole update, and
the step leaves the trust region that the clip was meant to hold.

## When it is a false alarm
Tasks whose rewards are heavy-tailed by nature (a rare jackpot) and whose score rises all the same.

## Fix
- Clip or normalise rewards; check the unit of each reward component.
- Find the sample with the extreme value and score it by hand.

## Smallest experiment
Train 20 updates with rewards clipped at the 99th percentile: if the gradient norm calms down and the score rises, the
outliers were the cause.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    reward_mean: Series,
    trajectory: Trajectory,
    reward_max: Series | None = None,
    reward_min: Series | None = None,
    *,
    far: float = 50.0,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    extremes = [s.finite for s in (reward_max, reward_min) if s is not None and len(s.finite) >= min_points]
    centre = reward_mean.finite
    if not extremes or len(centre) < min_points:
        return NotMeasured("neither the largest nor the smallest reward of a step is logged often enough")
    spread = noise_scale(centre.values)
    if spread == 0 or trajectory.kind == "rising":
        return None
    worst = max(
        extremes,
        key=lambda s: float(np.quantile(np.abs(s.values - np.interp(s.steps, centre.steps, centre.values)), 0.9)),
    )
    away = np.abs(worst.values - np.interp(worst.steps, centre.steps, centre.values)) / spread
    typical = float(np.median(away))
    size = float(np.median(np.abs(centre.values))) / spread
    outliers = away > max(far, 10 * typical, 5 * size)
    if np.sum(outliers) < 3:
        return None
    first = float(worst.steps[np.argmax(outliers)])
    return Finding(
        message=(
            f"{int(np.sum(outliers))} steps have a reward {number(float(away[outliers].max()))} spreads from the mean "
            f"(typical: {number(typical)}): one sample makes the whole update; look at it, then clip or normalise"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=worst.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text=worst.name, series=worst, since=first),),
    )
