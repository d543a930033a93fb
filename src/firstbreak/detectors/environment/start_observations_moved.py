"""Episodes begin with other observations than before.

## What it looks for
The spread of the observations with which episodes begin: `factor` times more or less than in the first quarter of the
run, to the end.

## Why it matters
How an episode begins does not depend on the policy. Where its first observations have another scale, the observations
mean something else: lost normalisation statistics after a resume, another wrapper, another simulator. The policy reads
noise, and the numbers of the update move only afterwards.

## When it is a false alarm
A curriculum or randomisation that widens the start on purpose; running normalisation in its first episodes.

## Fix
- Save and load the normalisation statistics with the model.
- Compare the environment's version and wrappers before and after that step.

## Smallest experiment
Reset the environment a hundred times and compare the observations with those from before that step.

## References
https://github.com/DLR-RM/stable-baselines3/issues/870
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors.environment._moved import moved
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(env_start_spread: Series, *, factor: float = 3.0, min_points: int = 6) -> Finding | NotMeasured | None:
    curve = env_start_spread.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} windows with fresh episodes are too few (needs {min_points})")

    def other(values: np.ndarray, usual: float) -> np.ndarray:
        return (values > factor * usual) | (values < usual / factor)

    if (change := moved(curve, other)) is None:
        return None
    return Finding(
        message=(
            f"episodes begin with observations of spread {number(change.after)} from step {change.step:g} on, "
            f"{number(change.before)} before: the observations mean something else; compare both sides of that step"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=change.step,
        interval=change.interval,
        evidence=(
            Evidence(text="spread at the start of episodes", series=curve, since=change.step, level=change.before),
        ),
        facts={"ratio": change.after / change.before if change.before else None},
    )
