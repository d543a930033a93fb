"""Completions are cut before they end.

## What it looks for
The share of completions that reached the length limit (logged, or estimated from mean length and limit): its level
over the second half of the run, its trend, and whether the score rises all the same.

## Why it matters
A cut completion has no answer, so the verifier scores it as wrong whatever was being said. The policy then learns
from the limit instead of the task, and a score cannot rise while most answers never come.

## When it is a false alarm
The share is high at first and falls while the score rises: the policy learns to be brief. AReaL's `no_eos_ratio` has
a floor of one over the sequences per rank.

## Fix
- Raise {max_new_tokens}.
- Drop or mask cut completions ({mask_truncated}); filter prompts whose answers are too long.
- Penalise length softly before the limit instead of cutting.

## Smallest experiment
Generate for 50 prompts with four times {max_new_tokens} and score again: if the mean score rises, the limit was the
break.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/5697
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, Series, Severity
from firstbreak.stats.direction import departure, rises
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent

FEW = 8


def detect(
    truncation: Series,
    length_limit: float | None = None,
    trajectory: Trajectory | None = None,
    length_mean: Series | None = None,
    *,
    some: float = 0.05,
    much: float = 0.4,
) -> Finding | None:
    cut = truncation.finite
    if not len(cut):
        return None
    half = cut.tail(0.5).values
    late = float(np.mean(half))
    # a few completions per step make a share that is mostly noise
    sure = late - float(np.std(half)) / np.sqrt(len(half))
    growing = len(cut) >= FEW and rises(cut)
    if late < some or (late < 2 * some and not growing):
        return None
    since = (
        first_sustained(cut, lambda values: values >= max(some, late / 2)) if len(cut) >= FEW else float(cut.steps[0])
    )
    start = departure(cut) if growing else None
    learns = trajectory is not None and trajectory.kind in ("rising", "plateau")
    at = f" of {number(length_limit)} tokens" if length_limit else ""
    return Finding(
        message=(
            f"{percent(late)} of the completions end at the length limit{at}"
            f"{' and the share grows' if growing else ''}: their answers never come; raise the limit or filter long "
            "ones"
        ),
        severity=_severity(late, sure >= much, growing, learns, trajectory),
        confidence=Confidence.LOW
        if len(cut) < FEW and late < 0.9
        else Confidence.HIGH
        if sure >= much
        else Confidence.MEDIUM,
        metric="length.clipped_ratio",
        onset=start[0] if start else since,
        interval=start[1] if start else None if since is None else (float(cut.steps[0]), since),
        evidence=(
            Evidence(text="share of cut completions", series=truncation, since=since, level=some),
            *(
                [Evidence(text="mean length", series=length_mean, level=length_limit)]
                if length_mean is not None
                else []
            ),
        ),
        facts={"share": late, "growing": growing},
    )


def _severity(late: float, much: bool, growing: bool, learns: bool, trajectory: Trajectory | None) -> Severity:
    if much and not learns:
        return Severity.CRITICAL
    if growing and late >= 0.2 and trajectory is not None and trajectory.lost:
        return Severity.CRITICAL
    return Severity.WARNING if late >= 0.2 or growing else Severity.NOTICE
