"""Observations stand still, have another scale, or come late.

## What it looks for
Three marks, of which one suffices. The share of components that never change within a window of steps: a rise that lasts, by
`least` or more. The spread of the observations with which episodes begin: `factor` times more or less than in the first
quarter of the run, to the end. And how much of a change the action just before it explains, beside the actions some
steps earlier: the latter more by `more` in `most` of the windows.

## Why it matters
A sensor that reads zero, normalisation statistics that were lost on a resume, a buffer index, an asynchronous environment
that answers with the last state: the policy acts on something else than the state, what can be reached is capped, and
no number of the update says so.

## When it is a false alarm
Components that are constant by nature are so from the start, and are not counted. A curriculum that widens the start. A
delay that belongs to the task; observations without speeds, in which an action shows when the position has moved.

## Fix
- Compare an observation from before that step with one from today; save normalisation statistics with the model.
- Step by hand: does the observation that `step(action)` returns already hold the action's effect?
- Where a delay is real, put the last actions into the observation.

## Smallest experiment
A hundred steps of a random policy in today's environment: count the components that change, and the steps until an action
shows.

## References
https://arxiv.org/abs/2101.00135
https://github.com/DLR-RM/stable-baselines3/issues/870
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors.environment._moved import moved
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    env_observation_constant: Series | None = None,
    env_start_spread: Series | None = None,
    env_action_shown: Series | None = None,
    env_action_shown_at_once: Series | None = None,
    writes_text: bool | None = None,
    *,
    least: float = 0.05,
    factor: float = 3.0,
    more: float = 0.2,
    most: float = 0.7,
    min_points: int = 6,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("only for policies that act in an environment")
    curves = (env_observation_constant, env_start_spread, env_action_shown, env_action_shown_at_once)
    constant, spread, shown, at_once = (
        s.finite if s is not None and len(s.finite) >= min_points else None for s in curves
    )
    if constant is None and spread is None and (shown is None or at_once is None):
        return NotMeasured(f"fewer than {min_points} windows of transitions are described in the log")
    found = [
        _stands_still(constant, least) if constant is not None else None,
        _rescaled(spread, factor) if spread is not None else None,
        _late(shown, at_once, more, most) if shown is not None and at_once is not None else None,
    ]
    return next((finding for finding in found if finding is not None), None)


def _stands_still(curve: Series, least: float) -> Finding | None:
    change = moved(curve, lambda values, usual: values > usual + least)
    if change is None:
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


def _rescaled(curve: Series, factor: float) -> Finding | None:
    change = moved(curve, lambda values, usual: (values > factor * usual) | (values < usual / factor))
    if change is None:
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
        facts={"before": change.before, "after": change.after},
    )


def _late(later: Series, at_once: Series, more: float, most: float) -> Finding | None:
    gap = later.values - np.interp(later.steps, at_once.steps, at_once.values)
    if float(np.mean(gap > more)) < most:
        return None
    first = float(later.steps[np.flatnonzero(gap > more)[0]])
    soon, late = float(np.median(at_once.values)), float(np.median(later.values))
    return Finding(
        message=(
            f"the action just before explains {percent(soon)} of what moves, one some steps earlier {percent(late)}: "
            "observations or actions come late; step the environment by hand and look when an action shows"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=later.name,
        onset=first,
        interval=(float(later.steps[0]), first),
        evidence=(Evidence(text="explained by actions of the last steps", series=later, since=first),),
        facts={"at_once": soon, "later": late},
    )
