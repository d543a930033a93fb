"""The policy uses next to nothing of the range of its actions.

## What it looks for
The size of the actions over half of the range that they may have: below `max_use` in the first quarter of the run, where the
policy explores most.

## Why it matters
A Gaussian policy starts with a standard deviation of 1. In a range of 1,000 that is no exploration at all: nearly all that
the environment can do is never tried, and the steps of the update are as small.

## When it is a false alarm
A policy that was trained before, and holds still; a range that is declared far too wide while only a small part makes sense.

## Fix
- Declare actions between -1 and 1, and rescale inside of the environment (gymnasium.wrappers.RescaleAction).
- Or raise the initial standard deviation (log_std_init).

## Smallest experiment
`firstbreak check env` on the environment: which share of the range does a new policy cover?

## References
https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at
from firstbreak.engine.families import Policy, only
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity

FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_action_use: Series,
    *,
    max_use: float = at(0.02, "share", "a new Gaussian policy in a range of 50 to each side"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    used = env_action_use.finite
    if len(used) < min_points:
        return NotMeasured(f"{len(used)} windows of transitions are too few (needs {min_points})")
    early = used.head(0.25)
    if float(np.max(early.values)) > max_use:
        return None
    first = float(used.steps[0])
    return Finding(
        message=facts.tell(
            "at first, the actions have {most:%} of the size of their range at most: the policy explores next to nothing of what "
            "it may do; declare actions between -1 and 1, and rescale them inside of the environment",
            most=facts.highest(early),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=used.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="size of the actions over their range", series=used, level=max_use),),
        numbers={"use": float(np.max(early.values))},
    )
