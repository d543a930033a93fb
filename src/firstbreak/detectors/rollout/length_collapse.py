"""Completions shrink to almost nothing.

## What it looks for
Mean length that falls to a small part of its start and stays there, while the score, by preference an independent
evaluation, does not rise.

## Why it matters
Saying nothing is a way to avoid negative reward, and an end-of-text token at once is the shortest strategy of all.

## When it is a false alarm
Answers that become sharper: shorter while the evaluation rises.

## Fix
- Check what an empty completion earns: it must be the worst reward there is.
- Check the loss on the end-of-text token, and length penalties.

## Smallest experiment
Score an empty completion and a right one with the reward function: the gap must be large and of the right sign.

## References
https://arxiv.org/abs/2209.13085
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.words import number


def detect(
    length_mean: Series,
    score: Series,
    truth: Series | None = None,
    *,
    part: float = 0.3,
    min_points: int = 10,
) -> Finding | NotMeasured | None:
    length = length_mean.finite
    if len(length) < min_points:
        return NotMeasured(f"{len(length)} lengths are too few for a trend (needs {min_points})")
    early, late = float(np.median(length.head(0.2).values)), float(np.median(length.tail(0.2).values))
    if early <= 0 or late > part * early:
        return None
    judge = truth if truth is not None and len(truth) >= 5 else score
    shape = shape_of(judge)
    if shape.kind in ("rising", "plateau", "oscillating"):
        return None
    since = departure(length, direction=-1)
    return Finding(
        message=(
            f"completions shrank from {number(early)} to {number(late)} tokens while {judge.name} "
            f"{'fell' if shape.lost else 'did not rise'}: check what an empty completion earns"
        ),
        severity=Severity.CRITICAL if shape.lost else Severity.WARNING,
        confidence=Confidence.HIGH if shape.lost else Confidence.MEDIUM,
        metric="length.mean",
        onset=since[0] if since else None,
        interval=since[1] if since else None,
        evidence=(Evidence(text="mean length", series=length_mean, since=since[0] if since else None),),
        facts={"part": late / early},
    )
