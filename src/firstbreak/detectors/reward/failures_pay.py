"""Tool calls fail more often, and the reward rises with them.

## What it looks for
A rate of failed or illegal tool calls that leaves its first level upwards, by at least `more`, while the training reward
rises or stays at its top.

## Why it matters
A failure that is graded as success (an exception read as "done", an empty result that matches an empty reference) is the
cheapest way to the reward, and the policy finds it.

## When it is a false alarm
Exploration of new tools early in training, where failures come with learning and then fade.

## Fix
- Give an episode with a failed call the reward of its final state, and nothing for the text of the error.
- Read ten rewarded episodes that hold a failed call.

## Smallest experiment
Let one tool always fail in a batch: the reward of its episodes has to be that of not having called it.

## References
https://arxiv.org/abs/2209.13085
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, falls
from firstbreak.words import percent


def detect(
    reward_mean: Series,
    tool_failure_freq: Series | None = None,
    tool_invalid_frac: Series | None = None,
    *,
    more: float = 0.03,
    times: float = 2.0,
    min_points: int = 16,
) -> Finding | NotMeasured | None:
    candidates = (tool_failure_freq, tool_invalid_frac)
    failed = next((s.finite for s in candidates if s is not None and len(s.finite) >= min_points), None)
    rewards = reward_mean.finite
    if failed is None or len(rewards) < min_points:
        return NotMeasured(f"needs {min_points} steps of rewards and of failed tool calls")
    early, late = float(np.median(failed.head(0.15).values)), float(np.median(failed.tail(0.5).values))
    if late < early + more or late < times * early:
        return None
    began = departure(failed)
    since = began[0] if began else float(failed.steps[0])
    before, after = rewards.between(-np.inf, since).tail(0.3).values, rewards.tail(0.25).values
    if not len(before) or float(np.median(after)) <= float(np.median(before)) or falls(rewards.between(since)):
        return None
    return Finding(
        message=(
            f"failed tool calls went from {percent(early)} to {percent(late)} while the reward rose: failing is paid; "
            "read ten rewarded episodes that hold a failed call"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=failed.name,
        onset=began[0] if began else None,
        interval=began[1] if began else None,
        evidence=(Evidence(text="failed calls", series=failed), Evidence(text="reward", series=rewards)),
        facts={"before": early, "after": late},
    )
