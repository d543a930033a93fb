"""Tool calls fail.

## What it looks for
The share of tool calls that end in an error: its level over the second half, and whether it grows.

## Why it matters
A failed call is an observation about the infrastructure, not about the policy. If it is scored as a wrong answer, the
policy learns to avoid tools; if it is scored as a success, to break them.

## When it is a false alarm
Exploration of a tool's interface at the start, when the share falls as the policy learns its syntax.

## Fix
- Read ten failed calls: wrong syntax is the policy's, time-outs and refused connections are the infrastructure's.
- Leave trajectories with infrastructure errors out of the batch instead of scoring them.

## Smallest experiment
Replay fifty logged calls against the tool without a policy: those that fail again are the tool's.

## References
https://arxiv.org/abs/2504.13958
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import onset
from firstbreak.stats.shape import Trajectory
from firstbreak.stats.trend import trend
from firstbreak.words import percent


def detect(
    tool_error_frac: Series | None = None,
    tool_failure_freq: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    high: float = 0.2,
    min_points: int = 10,
) -> Finding | NotMeasured | None:
    errors = tool_error_frac if tool_error_frac is not None else tool_failure_freq
    if errors is None:
        return NotMeasured("no share of failed tool calls is logged")
    curve = errors.finite
    if len(curve) < min_points:
        return NotMeasured(f"{len(curve)} values of the tool error share are too few (needs {min_points})")
    late, growing = float(np.mean(curve.tail(0.5).values)), trend(curve).rising
    if late < high / 2 or (late < high and not growing) or (trend(curve).falling and late < 2 * high):
        return None
    since = onset(curve, direction=1)
    stuck = trajectory is not None and (trajectory.lost or trajectory.kind == "flat")
    return Finding(
        message=f"{percent(late)} of the tool calls fail{' and the share grows' if growing else ''}: read ten of them first",
        severity=Severity.CRITICAL if stuck and late >= 2 * high else Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=curve.name,
        onset=since.step if since else float(curve.steps[0]),
        interval=since.interval if since else None,
        evidence=(
            Evidence(text="share of failed calls", series=errors, since=since.step if since else None, level=high),
        ),
    )
