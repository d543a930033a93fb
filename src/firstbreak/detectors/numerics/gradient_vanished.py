"""The gradient has shrunk to nothing although the task is not solved.

## What it looks for
The gradient norm over the last quarter: exactly 0 in most updates, or a thousandth of its own early level. An update
whose groups were all silent has no gradient by construction, and is left out where others are left.

## Why it matters
Without a gradient the remaining steps cost compute and change nothing. Something upstream no longer tells good from
bad, or no longer reaches the weights.

## When it is a false alarm
The task is solved: all groups are right, and nothing is left to learn. A log that prints four decimals shows small
norms as 0.

## Fix
- Group-relative methods: look at the share of silent groups first; with equal rewards the advantage is 0.
- Look at the spread of the advantages: noise there and none in the gradient is a mask or a detached loss.
- Check that the trainable parameters (adapters) are in the graph and in the optimizer.

## Smallest experiment
One update on one batch with hand-made advantages of +1 and -1: a gradient that is still 0 is cut off from the loss;
one that is not says that the advantages are empty.

## References
https://github.com/huggingface/trl/issues/3857
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number, percent

SILENT = 0.8  #: share of silent groups that explains a gradient of nothing


def detect(
    grad_norm: Series,
    silent_groups: Series | None = None,
    solved: bool | None = None,
    *,
    shrunk: float = 1e-3,
    most: float = 0.5,
    min_points: int = 10,
) -> Finding | Expected | NotMeasured | None:
    norms = _with_a_signal(grad_norm.finite, silent_groups, min_points)
    if len(norms) < min_points:
        return NotMeasured(f"{len(norms)} gradient norms are too few (needs {min_points})")
    early, late = float(np.median(norms.head(0.25).values)), float(np.median(norms.tail(0.25).values))
    zeros = float(np.mean(norms.tail(0.25).values == 0))
    if zeros < most and late > shrunk * early:
        return None
    if solved:
        return Expected("the gradient is gone because the score is at its ceiling")
    if silent_groups is not None and len(silent_groups.finite) and _late(silent_groups) >= SILENT:
        return Expected("the gradient is gone because nearly all groups have equal rewards")
    onset = first_sustained(norms, lambda values: values <= shrunk * early)
    exact = f"is exactly 0 in {percent(zeros)} of the last updates"
    return Finding(
        message=(
            f"the gradient norm {exact if zeros >= most else f'fell from {number(early)} to {number(late)}'} and the "
            "task is not solved; check the spread of the advantages"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if zeros >= most else Confidence.MEDIUM,
        metric="grad.norm",
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=(
            Evidence(text="gradient norm", series=grad_norm, since=onset, level=0.0),
            *([Evidence(text="share of silent groups", series=silent_groups)] if silent_groups is not None else []),
        ),
        facts={"zeros": zeros},
    )


def _late(share: Series) -> float:
    return float(np.mean(share.finite.tail(0.25).values))


def _with_a_signal(norms: Series, silent_groups: Series | None, min_points: int) -> Series:
    """The updates in which some group had a reward spread; all of them where that leaves too few to judge."""
    if silent_groups is None or not np.array_equal(silent_groups.steps, norms.steps):
        return norms
    some = silent_groups.values < 1
    return replace(norms, steps=norms.steps[some], values=norms.values[some]) if some.sum() >= min_points else norms
