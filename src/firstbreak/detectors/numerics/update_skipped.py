"""Optimizer steps are skipped because their gradient is not finite.

## What it looks for
The share of optimizer steps that were applied, where it is below 1; and the loss scale of mixed precision, where it
keeps falling in the second half of the run or has reached 1.

## Why it matters
A skipped step costs a whole batch of generation and teaches nothing. The trainer protects the weights, so no curve
shows NaN: the skip is the only sign, and it becomes frequent before a run breaks.

## When it is a false alarm
The scaler looks for its level in the first steps by trying scales that are too large. A single skipped step in
hundreds.

## Fix
- Train in bf16 instead of fp16 ({precision}), and compute logits and losses in fp32.
- Find the batch: empty masks, a spread of exactly 0 in a denominator, completions without a token.
- Lower {learning_rate} and {grad_clip} if the norm grew first.

## Smallest experiment
Run the skipped batch alone in fp32: a finite gradient there is an overflow of the format, an infinite one is an error
of the loss.

## References
https://pytorch.org/docs/stable/amp.html
https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    optim_update_ok: Series | None = None,
    optim_loss_scale: Series | None = None,
    *,
    some: float = 0.01,
    most: float = 0.5,
    halvings: float = 5.0,
    min_points: int = 5,
) -> Finding | NotMeasured | None:
    applied, scale = (s.finite if s is not None else None for s in (optim_update_ok, optim_loss_scale))
    if max(len(applied or ()), len(scale or ())) < min_points:
        return NotMeasured(f"neither skipped updates nor the loss scale are logged for {min_points} steps")
    skipped = _skipped(applied, some, most) if applied else None
    return skipped or (_overflowing(scale, halvings) if scale else None)


def _skipped(applied: Series, some: float, most: float) -> Finding | None:
    share = float(np.mean(1 - applied.tail(0.5).values))
    if share < some:
        return None
    first = float(applied.steps[np.argmax(applied.values < 1)])
    return Finding(
        message=(
            f"{percent(share)} of the optimizer steps are skipped because their gradient is not finite; run one such "
            "batch alone in fp32"
        ),
        severity=Severity.CRITICAL if share >= most else Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=applied.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="share of steps applied", series=applied, since=first, level=1.0),),
        facts={"skipped": share},
    )


def _overflowing(scale: Series, halvings: float) -> Finding | None:
    late = scale.tail(0.5)
    start, end = float(late.values[0]), float(late.values[-1])
    if not 0 < end < start or (end > 1 and np.log2(start / end) < halvings):
        return None
    return Finding(
        message=(
            f"the loss scale fell from {number(start)} to {number(end)} in the second half of the run: gradients "
            "overflow again and again; train in bf16"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=scale.name,
        onset=float(late.steps[0]),
        interval=(float(late.steps[0]), float(late.steps[-1])),
        evidence=(Evidence(text="loss scale", series=scale, since=float(late.steps[0])),),
        facts={"scale": end},
    )
