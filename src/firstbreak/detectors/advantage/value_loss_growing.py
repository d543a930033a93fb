"""The value loss grows and does not come back.

## What it looks for
A value loss whose level over the last quarter is several times that of its first half, still rising, while the score
does not rise.

## Why it matters
The critic chases targets that run away from it. Its advantages become noise, and with a shared trunk or a common
gradient clip its gradient starves the policy's.

## When it is a false alarm
Returns that grow because the policy improves carry the loss with them: the loss follows the square of the value's
scale. A score at its ceiling. The first updates, when the critic learns from zero.

## Fix
- Scale rewards down or normalise returns; lower {gamma}.
- Lower the critic's learning rate; clip its gradient apart from the policy's.
- For DQN-like methods: update the target network less often ({target_update_interval}).

## Smallest experiment
Freeze the policy and one batch of rollouts, and train the critic alone: a loss that still grows is a wrong target.

## References
https://arxiv.org/abs/1812.02648
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, rises
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number

HARMED = frozenset({"peaked", "collapsed", "declining", "flat", "oscillating"})


def detect(
    value_loss: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    growth: float = 5.0,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    loss = value_loss.finite
    if len(loss) < min_points:
        return NotMeasured(f"{len(loss)} values of the critic's loss are too few (needs {min_points})")
    early, late = float(np.median(loss.head(0.5).values)), float(np.median(loss.tail(0.25).values))
    if early <= 0 or late < growth * early or not rises(loss) or solved:
        return None
    if trajectory is not None and trajectory.kind not in HARMED:
        return None
    since = departure(loss)
    beside = "the score did not rise with it" if trajectory is not None else "no score shows whether returns did"
    return Finding(
        message=(
            f"the value loss grew {number(late / early)} times, from {number(early)} to {number(late)}, and {beside}: check "
            "the scale of returns and the bootstrap target"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM if trajectory is not None else Confidence.LOW,
        metric="value.loss",
        onset=since[0] if since else None,
        interval=since[1] if since else None,
        evidence=(Evidence(text="value loss", series=value_loss, since=since[0] if since else None),),
        facts={"growth": late / early},
    )
