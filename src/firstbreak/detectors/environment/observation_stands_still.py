"""A part of the observation stands still from some step on.

## What it looks for
The share of the observation's components that never change within a window of steps: a rise that lasts, of at least
`least`, over its level in the first quarter of the run.

## Why it matters
A sensor that reads zero, a wrapper that drops a part of the state, a buffer that is no longer filled: the policy was
trained on something that it no longer sees, and no number of the update says so.

## When it is a false alarm
Components that are constant by nature: they are so from the start, and then this is silent. A policy that comes to rest.

## Fix
- Print one observation from before that step and one from today, side by side.
- Compare the environment's version, wrappers and normalisation before and after.

## Smallest experiment
Run a random policy in today's environment for a hundred steps and count the components that change.

## References
https://arxiv.org/abs/2101.00135
"""

from __future__ import annotations

from firstbreak.detectors.environment._moved import moved
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent


def detect(
    env_observation_constant: Series, *, least: float = 0.05, min_points: int = 6
) -> Finding | NotMeasured | None:
    curve = env_observation_constant.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} windows of transitions are too few (needs {min_points})")
    if (change := moved(curve, lambda values, usual: values > usual + least)) is None:
        return None
    return Finding(
        message=(
            f"{percent(change.after)} of the observation's components stand still from step {change.step:g} on "
            f"({percent(change.before)} before): compare an observation from before that step with one from today"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=change.step,
        interval=change.interval,
        evidence=(Evidence(text="constant components", series=curve, since=change.step, level=change.before),),
        facts={"share": change.after},
    )
