"""A part of the reward never changes.

## What it looks for
Reward components that hold one value over the whole run while others move.

## Why it matters
A constant component adds nothing to any advantage. Either it can never be earned (its pattern does not match what the
model writes), or it is always earned; both times it was meant to teach something and does not.

## When it is a false alarm
A guard that only bites when something goes wrong (a cheating penalty at 0). A run of a few steps.

## Fix
- Read ten completions and score them by hand against that function.
- Drop the component, or loosen its pattern until a correct completion earns it.

## Smallest experiment
Call the reward function on one completion written by hand that should earn it, and on one that should not.

## References
https://arxiv.org/abs/2209.13085
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(reward_component_mean: dict[str, Series], *, min_points: int = 20) -> Finding | NotMeasured | None:
    longest = max(len(s.finite) for s in reward_component_mean.values())
    if longest < min_points:
        return NotMeasured(f"{longest} points are too few to call a component constant (needs {min_points})")
    dead = {
        k: s for k, s in reward_component_mean.items() if len(s.finite) >= min_points and np.ptp(s.finite.values) == 0
    }
    if not dead or len(dead) == len(reward_component_mean):
        return None
    names = ", ".join(f"{name} (always {number(float(s.finite.values[0]))})" for name, s in dead.items())
    return Finding(
        message=f"constant reward components teach nothing: {names}; score one good sample by hand against each",
        severity=Severity.NOTICE,
        confidence=Confidence.HIGH,
        metric=next(iter(dead.values())).name,
        onset=float(next(iter(dead.values())).steps[0]),
        evidence=tuple(Evidence(text=name, series=s) for name, s in dead.items()),
        facts={"dead": tuple(dead)},
    )
