"""The policy calls tools more and more often.

## What it looks for
Tool calls or turns per episode that leave their first level upwards, to at least `growth` times it.

## Why it matters
Each call costs time and context. A policy that is paid per call, or punished for answering, calls where nothing is to be
learned from it, and an episode that fills its budget with calls never comes to an answer.

## When it is a false alarm
Harder problems that need more steps: then the share of solved episodes rises with the calls.

## Fix
- Pay for the outcome alone; a bonus for a call is paid once at most, or not at all.
- Charge a small cost per call, and look whether the success rate stays.

## Smallest experiment
Set the bonus per call to 0 for a tenth of the run: if calls fall back and success stays, the bonus was the reason.

## References
https://arxiv.org/abs/2504.11536
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, rises
from firstbreak.words import number


def detect(
    tool_call_freq: Series | None = None,
    turns_mean: Series | None = None,
    eval_score: Series | None = None,
    *,
    growth: float = 1.3,
    min_points: int = 16,
) -> Finding | NotMeasured | None:
    calls = next((s.finite for s in (tool_call_freq, turns_mean) if s and len(s.finite) >= min_points), None)
    if calls is None:
        return NotMeasured(f"neither tool calls nor turns per episode are logged for {min_points} steps")
    early, late = (float(np.median(part.values)) for part in (calls.head(0.15), calls.tail(0.25)))
    if early <= 0 or late < growth * early or not rises(calls):
        return None
    began = departure(calls)
    gained = eval_score is not None and len(eval_score) >= 5 and rises(eval_score)
    return Finding(
        message=(
            f"{calls.name} grew from {number(early)} to {number(late)} per episode; look whether calls are paid for, "
            "and whether episodes still come to an answer"
        ),
        severity=Severity.NOTICE if gained and late < 1.5 * early else Severity.WARNING,
        confidence=Confidence.LOW if gained else Confidence.MEDIUM,
        metric=calls.name,
        onset=began[0] if began else None,
        interval=began[1] if began else None,
        evidence=(Evidence(text="calls", series=calls, since=began[0] if began else None),),
        facts={"times": late / early},
    )
