"""From one step to the next the reward is what it was, with the other sign.

## What it looks for
A step at which the mean reward changes its sign and keeps its size (within `alike` of it), by more than `clear` times what
it had spread by in the steps before, after updates of the usual size. Before it, nearly all rewards had the one sign.

## Why it matters
A policy cannot turn its reward round in one update, least of all to the same size. A minus has come into the reward, or the
labels of a judge were swapped; from there on training pays for the opposite.

## When it is a false alarm
A reward that is centred on purpose from some step on.

## Fix
- Score ten samples from before that step by hand, with the reward as it is now and as it was.
- Look what was changed, resumed or switched on at that step: a schedule of reward weights, a new version of the judge.

## Smallest experiment
The checkpoint from before that step with a learning rate near 0 and known answers scored on the side.

## References
https://arxiv.org/abs/1909.08593
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number

WINDOW = 5  #: steps on each side that show the level


def detect(
    reward_mean: Series,
    kl_ref: Series | None = None,
    kl_old: Series | None = None,
    *,
    alike: float = 0.4,
    clear: float = 5.0,
    one_sign: float = 0.95,
    burst: float = 5.0,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    rewards = reward_mean.finite
    if len(rewards) < min_points:
        return NotMeasured(f"{len(rewards)} mean rewards are too few (needs {min_points})")
    at = _turn(rewards.values, alike, clear, one_sign)
    if at is None:
        return None
    before, after = (float(np.median(part)) for part in _sides(rewards.values, at))
    last, first = float(rewards.steps[at - 1]), float(rewards.steps[at])
    sizes = [s.finite.between(-np.inf, last).values for s in (kl_ref, kl_old) if s is not None]
    told = [s for s in sizes if len(s) >= 2 * WINDOW]
    if any(np.max(s[-2:]) > burst * max(float(np.quantile(s[:-2], 0.9)), 1e-6) for s in told):
        return None  # the policy had just jumped: anything may follow
    return Finding(
        message=(
            f"the mean reward was {number(before)} up to step {number(last)} and is {number(after)} from step {number(first)} "
            "on: no update turns a reward round; look for a minus, or swapped labels, that came in there"
        ),
        severity=Severity.CRITICAL if told else Severity.WARNING,
        confidence=Confidence.HIGH if told else Confidence.MEDIUM,
        metric=rewards.name,
        onset=first,
        interval=(last, first),
        evidence=(Evidence(text="mean reward", series=rewards, since=first, level=-before),),
        facts={"before": before, "after": after},
    )


def _sides(values: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    return values[at - WINDOW : at], values[at : at + WINDOW]


def _turn(values: np.ndarray, alike: float, clear: float, one_sign: float) -> int | None:
    """The first index from which on values are those before with the other sign."""
    for at in range(WINDOW, len(values) - WINDOW + 1):
        earlier, later = _sides(values, at)
        before, after = float(np.median(earlier)), float(np.median(later))
        turned = before * after < 0 and abs(before + after) <= alike * abs(before)
        at_once = abs(values[at] - values[at - 1]) > abs(before)
        if turned and at_once and abs(before - after) > clear * float(np.std(values[max(0, at - 4 * WINDOW) : at])):
            same = np.mean(np.sign(values[:at]) == np.sign(before))
            if same >= one_sign and np.all(np.sign(later) == np.sign(after)):
                return at
    return None
