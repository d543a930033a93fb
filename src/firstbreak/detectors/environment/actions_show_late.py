"""Actions show in a later observation than the next one.

## What it looks for
The largest share of a component's change that actions explain: from the action just before it, and from those some steps
before. The latter has to be larger by `more` in most windows.

## Why it matters
A buffer index, a frame stack, an asynchronous environment that answers with the last state: the policy sees the past, and
advantages credit actions for what others have done. What can be reached is capped, and the numbers of the update are
ordinary.

## When it is a false alarm
A real delay that belongs to the task (a valve, a network). Observations without speeds, in which an action shows when the
position has moved.

## Fix
- Step by hand: does the observation that `step(action)` returns already hold the action's effect?
- Where the delay is real, put the last actions into the observation.

## Smallest experiment
Apply the same action from reset in two environments, and another one in the second at step 10: count the steps until
their observations differ.

## References
https://arxiv.org/abs/2101.00135
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent


def detect(
    env_action_shown: Series,
    env_action_shown_at_once: Series,
    *,
    more: float = 0.2,
    most: float = 0.7,
    min_points: int = 6,
) -> Finding | NotMeasured | None:
    later, at_once = env_action_shown.finite, env_action_shown_at_once.finite
    if min(len(later), len(at_once)) < min_points:
        return NotMeasured(f"{min(len(later), len(at_once))} windows of transitions are too few (needs {min_points})")
    gap = later.values - np.interp(later.steps, at_once.steps, at_once.values)
    if float(np.mean(gap > more)) < most:
        return None
    first = float(later.steps[np.flatnonzero(gap > more)[0]])
    shown, late = float(np.median(at_once.values)), float(np.median(later.values))
    return Finding(
        message=(
            f"the action just before explains {percent(shown)} of what moves, one some steps earlier {percent(late)}: "
            "observations or actions come late; step the environment by hand and look when an action shows"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=later.name,
        onset=first,
        interval=(float(later.steps[0]), first),
        evidence=(Evidence(text="explained by actions of the last steps", series=later, since=first),),
        facts={"at_once": shown, "later": late},
    )
