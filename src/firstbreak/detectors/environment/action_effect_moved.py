"""An action has another effect than before.

## What it looks for
How much the first action changes the component of the observation that actions move most: another sign, or a size that
differs by more than `share` from that of the first quarter of the run, to the end. Only windows count in which actions
explain `clear` of that change: there the effect is one number, and does not depend on where the policy has come to.

## Why it matters
What an action does is a property of the environment, whatever the policy is. Where it changes, the environment did:
another version of a simulator, other units of an action, an actuator that answers otherwise.

## When it is a false alarm
Domain randomisation. Where dynamics differ from place to place (Acrobot at speed) actions explain little of a window, and
this is silent.

## Fix
- Compare versions and settings of the environment before and after that step.
- Evaluate a checkpoint from before that step in today's environment.

## Smallest experiment
Take one action from the same state in the old and in the new environment, and compare the next observations.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.detectors.environment._moved import FIRST, moved
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number

MOST = 0.5  #: of the windows: with fewer that are clear, those that are clear are a place of their own


def detect(
    env_action_effect: Series,
    env_action_shown_at_once: Series,
    *,
    clear: float = 0.95,
    share: float = 0.3,
    steady: float = 0.1,
    min_points: int = 6,
) -> Finding | NotMeasured | None:
    effect, shown = env_action_effect.finite, env_action_shown_at_once.finite
    told = np.interp(effect.steps, shown.steps, shown.values) >= clear if len(shown) else np.zeros(len(effect), bool)
    curve = replace(effect, steps=effect.steps[told], values=effect.values[told])
    if len(curve) < min_points or np.mean(told) < MOST:
        return NotMeasured(
            f"{len(curve)} windows in which actions explain what they move are too few (needs {min_points})"
        )
    first = curve.head(FIRST).values
    usual = abs(float(np.median(first)))
    if float(np.median(np.abs(first - np.median(first)))) > steady * usual:
        return NotMeasured("the effect of an action differs from window to window: it depends on the state")
    change = moved(curve, lambda values, level: np.abs(values - level) > share * abs(level))
    if change is None:
        return None
    return Finding(
        message=(
            f"an action changes the observation by {number(change.after)} from step {change.step:g} on, by "
            f"{number(change.before)} before: the environment changed; compare its version and settings"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=change.step,
        interval=change.interval,
        evidence=(Evidence(text="effect of an action", series=curve, since=change.step, level=change.before),),
        facts={"before": change.before, "after": change.after},
    )
