"""What happens does not follow from the actions that were chosen.

## What it looks for
The largest share of a component's change that the actions of the last steps explain, in the first quarter of the run, where the
policy still tries most: below `little`, though above `none`.

## Why it matters
Actions that are replaced, dropped, clipped away or sent to the wrong joint: log-probabilities then refer to actions that
were never taken, and the policy gradient points at noise.

## When it is a false alarm
Sticky actions by design; observations in which actions do not show linearly. So it is a guess. A share that falls later on is
not counted: a better policy comes to places where actions show less (Acrobot or MountainCar at speed).

## Fix
- Log the action that the environment executes beside the one that the policy chose.
- Check clipping, scaling and the order of the action's components.

## Smallest experiment
Send the largest and the smallest action for ten steps each: does what you expect happen?

## References
https://arxiv.org/abs/2101.00135
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors.environment._moved import FIRST
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent


def detect(
    env_action_shown: Series,
    *,
    little: float = 0.5,
    none: float = 0.02,
    min_points: int = 6,
) -> Finding | NotMeasured | None:
    curve = env_action_shown.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} windows of transitions are too few (needs {min_points})")
    share = float(np.quantile(curve.head(FIRST).values, 0.9))
    if not none < share < little:
        return None
    first = float(curve.steps[0])
    return Finding(
        message=(
            f"actions explain {percent(share)} at most of the change of what they move: are they executed as they were "
            "chosen? log the action that the environment executes"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.LOW,
        metric=curve.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="explained by actions", series=curve),),
        facts={"share": share},
    )
