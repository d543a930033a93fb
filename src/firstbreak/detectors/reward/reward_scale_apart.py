"""Training counts rewards on another scale than the evaluation.

## What it looks for
The mean training return over the evaluation's, at every evaluation where both are positive or both negative: beyond
`times` either way for the whole run.

## Why it matters
Rewards that are multiplied by hundreds multiply the value loss by the square of it. The critic's gradient then fills the
clipped norm, the policy's share of it rounds to nothing, and nothing is learned; rewards divided by hundreds starve both.

## When it is a false alarm
A wrapper that rescales rewards on purpose (and a critic that learns well under it); an evaluation of another task.

## Fix
- Bring returns to the order of 1 to 100: divide rewards by their running standard deviation.
- Log the raw return beside the scaled one.

## Smallest experiment
Divide the rewards by the factor for a tenth of the run: the divergence per update and the score must come to life.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    eval_reward: Series,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    writes_text: bool | None = None,
    *,
    times: float = 12.0,
    min_points: int = 5,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("rewards of text are often weighted sums that the evaluation does not share")
    trained = next(
        (s.finite for s in (reward_mean, reward_episode) if s is not None and len(s.finite) >= min_points), None
    )
    scores = eval_reward.finite
    if trained is None or len(scores) < min_points:
        return NotMeasured(f"fewer than {min_points} training returns and evaluations")
    there = np.interp(scores.steps, trained.steps, trained.values)
    same = there * scores.values > 0
    if np.sum(same) < min_points:
        return NotMeasured("training return and evaluation differ in sign")
    ratios = np.abs(there[same] / scores.values[same])
    low, high = (float(q) for q in np.quantile(ratios, [0.1, 0.9]))
    if not (low > times or high < 1 / times):
        return None
    factor, start = float(np.median(ratios)), float(trained.steps[0])
    return Finding(
        message=(
            f"training returns are {number(factor)} times the evaluation's all along: rewards are scaled, and the "
            "value loss with the square of it; bring returns to the order of 1 to 100"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=trained.name,
        onset=start,
        interval=(start, start),
        evidence=(Evidence(text="training return", series=trained), Evidence(text="evaluation", series=scores)),
        facts={"factor": factor},
    )
