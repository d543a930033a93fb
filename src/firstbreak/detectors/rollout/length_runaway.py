"""Completions get longer and longer, and nothing is gained by it.

## What it looks for
Mean length that grows beyond its noise by a large factor while the score, by preference an independent evaluation,
does not rise.

## Why it matters
Length is the easiest thing to change. A policy that writes more for the same result follows a preference for length
in the reward or a loss that spreads over long wrong answers, and it runs into the length limit next.

## When it is a false alarm
Length that grows while an independent evaluation rises: the policy reasons more because that works.

## Fix
- Read short and long completions of the same prompt and compare their rewards.
- Remove the preference for length from the reward; use a token-level loss ({loss_type}).
- Penalise length softly before {max_new_tokens}.

## Smallest experiment
Score the same completions with the last third cut off: if the reward falls and the answers are as right as before,
the reward pays for length.

## References
https://arxiv.org/abs/2310.03716
https://arxiv.org/abs/2503.20783
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, rises
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.words import number


def detect(
    length_mean: Series,
    score: Series,
    truth: Series | None = None,
    *,
    growth: float = 1.5,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    length = length_mean.finite
    if len(length) < min_points:
        return NotMeasured(f"{len(length)} lengths are too few for a trend (needs {min_points})")
    early, late = float(np.median(length.head(0.25).values)), float(np.median(length.tail(0.25).values))
    if early <= 0 or late < growth * early or not rises(length):
        return None
    judge = truth if truth is not None and len(truth) >= 5 else score
    shape = shape_of(judge)
    if shape.kind not in ("flat", "too_short") and not shape.lost:
        return None
    since = departure(length)
    return Finding(
        message=(
            f"completions grew from {number(early)} to {number(late)} tokens while {judge.name} "
            f"{'fell' if shape.lost else 'did not rise'}: compare short and long completions of one prompt"
        ),
        severity=Severity.CRITICAL if shape.lost else Severity.WARNING,
        confidence=Confidence.LOW
        if shape.kind == "too_short"
        else Confidence.HIGH
        if shape.lost
        else Confidence.MEDIUM,
        metric="length.mean",
        onset=since[0] if since else None,
        interval=since[1] if since else None,
        evidence=(
            Evidence(text="mean length", series=length_mean, since=since[0] if since else None),
            Evidence(text="score", series=judge),
        ),
        facts={"growth": late / early},
    )
