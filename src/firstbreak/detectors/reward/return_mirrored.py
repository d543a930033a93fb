"""Training returns are minus those of the evaluation.

## What it looks for
The training return at each evaluation: of the other sign than the evaluation and of a similar size (within `within`
times), in most evaluations from some one on, and at least `min_points` of them.

## Why it matters
The environment that is trained in pays for the opposite of what the one that is evaluated in pays for: a wrapper with a
minus too many, a cost taken for a reward. The policy learns well, and away from the goal.

## When it is a false alarm
Returns that cross zero as the policy improves, and that differ because training explores: then sizes differ as well.
Fewer than `NEAREST` training returns: all evaluations are then compared with the same ones.

## Fix
- Step both environments with the same actions and print both rewards.
- Compare the wrappers of the two.

## Smallest experiment
One episode with fixed actions in both environments: the returns have to be equal.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number, percent

NEAREST = 9  #: training returns that an evaluation is compared with


def detect(
    eval_reward: Series,
    reward_episode: Series | None = None,
    reward_mean: Series | None = None,
    writes_text: bool | None = None,
    *,
    within: float = 3.0,
    most: float = 0.8,
    min_points: int = 4,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("rewards of text are often weighted sums that the evaluation does not share")
    trained = next(
        (s.finite for s in (reward_episode, reward_mean) if s is not None and len(s.finite) >= NEAREST), None
    )
    scores = eval_reward.finite
    if trained is None or len(scores) < min_points:
        return NotMeasured(f"fewer than {NEAREST} training returns or {min_points} evaluations")
    there = np.array([np.median(_around(trained, step).values) for step in scores.steps])
    ratio = there / np.where(scores.values == 0, np.nan, scores.values)
    mirrored = replace(scores, values=((-within < ratio) & (ratio < -1 / within)).astype(float))
    step = first_sustained(mirrored, lambda values: values > 0, min_points, most)
    if step is None or float(mirrored.between(step).values.mean()) < most:
        return None
    before = scores.steps[scores.steps < step]
    agreed = bool(np.median(ratio[scores.steps < step]) > 0) if len(before) else False
    since = float(before[-1]) if len(before) else float(trained.steps[0])
    return Finding(
        message=(
            f"training returns are minus the evaluation's ({number(float(np.median(there[scores.steps >= step])))} and "
            f"{number(float(np.median(scores.between(step).values)))}, in {percent(float(mirrored.between(step).values.mean()))} "
            f"of the evaluations from step {step:g} on): look for a minus too many in the training environment's reward"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if agreed or not len(before) else Confidence.MEDIUM,
        metric=trained.name,
        onset=step,
        interval=(since, step),
        evidence=(
            Evidence(text="training return", series=trained, since=step),
            Evidence(text="evaluation", series=scores, since=step),
        ),
    )


def _around(curve: Series, step: float, points: int = NEAREST) -> Series:
    """The training returns nearest to a step."""
    place = int(np.searchsorted(curve.steps, step))
    part = slice(max(0, min(place - points // 2, len(curve) - points)), max(points, place + points // 2 + 1))
    return replace(curve, steps=curve.steps[part], values=curve.values[part])
