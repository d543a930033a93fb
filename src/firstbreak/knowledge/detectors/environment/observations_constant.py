"""Observations never change.

## What it looks for
The share of components that never change within a window of steps: `min_share` or more from the first window to the last.

## Why it matters
A policy that sees the same numbers in every state can learn one action at best, whatever else is right.

## When it is a false alarm
A bandit without context, whose observation is a placeholder.

## Fix
- Print ten observations of one episode where the trainer gets them, behind all wrappers.
- Check buffers that are filled once, masks that are all 0, and the order of wrappers.

## Smallest experiment
`firstbreak check env` on the environment with all wrappers of the training.

## References
https://arxiv.org/abs/2101.00135
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at
from firstbreak.engine.families import Policy, only
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity

FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_observation_constant: Series,
    *,
    min_share: float = at(0.999, "share", "of the components: nothing is left to react to"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    constant = env_observation_constant.finite
    if len(constant) < min_points:
        return NotMeasured(f"{len(constant)} windows of transitions are too few (needs {min_points})")
    if float(np.min(constant.values)) < min_share:
        return None
    first = float(constant.steps[0])
    return Finding(
        message=facts.tell(
            "{share:%} or more of the observation's components never change within {n} windows: the policy sees nothing that it "
            "could react to; print ten observations of an episode behind all wrappers",
            share=facts.lowest(constant),
            n=str(len(constant)),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=constant.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="constant components", series=constant, level=min_share),),
        numbers={"share": float(np.min(constant.values))},
    )
