"""The policy becomes more random while it gets worse.

## What it looks for
Entropy, or the standard deviation of the actions, that grows to a multiple of its start while the score falls.

## Why it matters
The policy loses what it knew. Either the entropy bonus is stronger than the reward, or the updates destroy structure
(too large steps, stale data), and randomness is what is left.

## When it is a false alarm
Entropy that rises while the score rises: a late starter begins to explore, a policy that was too certain opens up.

## Fix
- Lower {entropy_coef}; bound the standard deviation of the actions.
- Lower {learning_rate}; check the age of the rollouts.

## Smallest experiment
{entropy_coef} = 0 from before the onset for a tenth of the run: entropy that still grows is not the bonus's work.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, rises
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number

FIRST = 3  #: points: a bonus that is too strong has done its work within a tenth of a run


def detect(
    trajectory: Trajectory,
    policy_entropy: Series | None = None,
    action_std: Series | None = None,
    *,
    growth: float = 1.5,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    curves = [s.finite for s in (policy_entropy, action_std) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(f"neither entropy nor the spread of the actions is logged for {min_points} updates")
    for curve in curves:
        start, late = float(np.median(curve.values[:FIRST])), float(np.median(curve.tail(0.2).values))
        got_worse = trajectory.lost or trajectory.kind == "declining"
        if start <= 0 or late < growth * start or not rises(curve) or not got_worse:
            continue
        since = departure(curve)
        return Finding(
            message=(
                f"{curve.name} grew from {number(start)} to {number(late)} while the score fell: the policy forgets; "
                "lower the entropy bonus or the step size"
            ),
            severity=Severity.CRITICAL,
            confidence=Confidence.MEDIUM,
            metric=curve.name,
            onset=since[0] if since else None,
            interval=since[1] if since else None,
            evidence=(Evidence(text=curve.name, series=curve, since=since[0] if since else None),),
        )
    return None
