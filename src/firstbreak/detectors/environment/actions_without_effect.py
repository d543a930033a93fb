"""What happens does not follow from the actions that were chosen.

## What it looks for
The largest share of a component's change that the actions of the last steps explain: a fall that lasts, by `fall`, under
its level in the first quarter of the run; or a share that even there, where the policy still tries most, is below `little`,
though above `none`.

## Why it matters
Actions that are replaced, dropped, clipped away or sent to the wrong joint: log-probabilities then refer to actions that
were never taken, and the policy gradient points at noise.

## When it is a false alarm
Sticky actions by design; observations in which actions do not show linearly; a policy that has come to places where they
show less (Acrobot at speed), or has become certain in an environment with much chance of its own. So it is a guess.

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

from firstbreak.detectors.environment._moved import FIRST, moved
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent


def detect(
    env_action_shown: Series,
    *,
    fall: float = 0.25,
    little: float = 0.5,
    none: float = 0.02,
    min_points: int = 6,
) -> Finding | NotMeasured | None:
    curve = env_action_shown.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} windows of transitions are too few (needs {min_points})")
    if change := moved(curve, lambda values, usual: values < usual - fall):
        return Finding(
            message=(
                f"actions explain {percent(change.after)} of what they move from step {change.step:g} on, "
                f"{percent(change.before)} before: log the action that is executed beside the one that was chosen"
            ),
            severity=Severity.WARNING,
            confidence=Confidence.LOW,
            metric=curve.name,
            onset=change.step,
            interval=change.interval,
            evidence=(Evidence(text="explained by actions", series=curve, since=change.step, level=change.before),),
            facts={"share": change.after},
        )
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
