"""No action is ever random, or hardly one from the first value on.

## What it looks for
The share of random actions (epsilon) is 0 from the first value to the last one; or it is at its floor, at most `floor`, in the
first row already, within the first `early` of the run.

## Why it matters
A method that learns the value of actions tries only what it takes for the best one, and never learns what the others are
worth.

## When it is a false alarm
Networks with noise of their own (NoisyNet), and a run that was resumed after its exploration. Where the score rises clearly, it
is only a notice.

## Fix
- Let epsilon begin at 1, and fall to 0.05 over the first tenth of the run or more ({exploration_initial},
  {exploration_fraction}).

## Smallest experiment
The same run with an epsilon of 0.1: if the score rises sooner, exploration was missing.

## References
https://arxiv.org/abs/1312.5602
https://arxiv.org/abs/1706.10295
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Role, Series, Severity

ROLES = (Role.RELATION,)


def detect(
    epsilon: Series,
    trajectory: Trajectory | None = None,
    *,
    min_points: int = at(8, "points", "Fewer values show no schedule."),
    floor: float = at(0.1, "share", "Usual final values are 0.01 to 0.1."),
    early: float = at(0.05, "share", "Of the run: usual schedules take a tenth of it, and more."),
) -> Finding | NotMeasured | None:
    curve = epsilon.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} values of epsilon are too few to see a schedule (needs {min_points})")
    highest, first = float(curve.values.max()), float(curve.steps[0])
    at_floor = highest <= floor and float(np.ptp(curve.values)) < 0.01 and first <= early * float(curve.steps[-1])
    if highest and not at_floor:
        return None
    learned = trajectory is not None and trajectory.learned
    return Finding(
        message=facts.tell(
            "the share of random actions is {highest} at most from {first} on: the policy only does what it takes for the best; "
            "let epsilon begin at 1 and fall",
            highest=facts.highest(curve),
            first=facts.at(curve, first),
        ),
        severity=Severity.NOTICE if learned else Severity.WARNING,
        confidence=Confidence.MEDIUM if learned else Confidence.HIGH,
        metric=curve.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="share of random actions", series=curve, since=first),),
    )
