"""The policy becomes more random and is not the better for it.

## What it looks for
Entropy, or the standard deviation of the actions, that grows to a multiple of its start while the score falls; or a
standard deviation that grows `wild` times over while the score stands still or is not recorded.

## Why it matters
The policy loses what it knew. Either the entropy bonus is stronger than the reward, or the updates destroy structure
(too large steps, stale data), and randomness is what is left. Actions have bounds: noise several times wider than at the start
is cut off at them, and the policy acts at full strength in a direction drawn by lot.

## When it is a false alarm
Entropy that rises while the score rises: a late starter begins to explore, a policy that was too certain opens up.

## Fix
- Lower {entropy_coef}, to 0 for continuous actions; bound the standard deviation of the actions.
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
    trajectory: Trajectory | None = None,
    policy_entropy: Series | None = None,
    action_std: Series | None = None,
    *,
    growth: float = 1.5,
    wild: float = 4.0,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    curves = [s.finite for s in (policy_entropy, action_std) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(f"neither entropy nor the spread of the actions is logged for {min_points} updates")
    got_worse = trajectory is not None and (trajectory.lost or trajectory.kind == "declining")
    stands_still = trajectory is None or trajectory.kind in ("flat", "oscillating")
    for curve in curves:
        start, late = float(np.median(curve.values[:FIRST])), float(np.median(curve.tail(0.2).values))
        lost = got_worse and late >= growth * start
        noise = stands_still and curve.name == "action.std" and late >= wild * start
        if start <= 0 or not (lost or noise) or not rises(curve):
            continue
        since = departure(curve)
        return Finding(
            message=f"{curve.name} grew from {number(start)} to {number(late)} {_meanwhile(trajectory, lost)}",
            severity=Severity.CRITICAL if lost else Severity.WARNING,
            confidence=Confidence.HIGH if late >= 2 * wild * start else Confidence.MEDIUM,
            metric=curve.name,
            onset=since[0] if since else None,
            interval=since[1] if since else None,
            evidence=(Evidence(text=curve.name, series=curve, since=since[0] if since else None),),
        )
    return None


def _meanwhile(trajectory: Trajectory | None, lost: bool) -> str:
    if lost:
        return "while the score fell: the policy forgets; lower the entropy bonus or the step size"
    score = "no score shows that it pays" if trajectory is None else "the score stands still"
    return f"and {score}: actions are noise that is cut off at their bounds; lower the entropy bonus, to 0 at first"
