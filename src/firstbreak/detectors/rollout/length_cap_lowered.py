"""The longest completion suddenly ends earlier than it used to.

## What it looks for
The longest completion of each batch, which falls at one step to a lower value that no later batch exceeds, while more
completions than before are cut there.

## Why it matters
A policy shortens its completions over many updates, and never to one exact number. A new ceiling is a setting: a smaller
token limit, a context that is filled up by something else, a time-out. What does not fit is cut, graded as wrong, and
unlearned.

## When it is a false alarm
A planned schedule of the length limit.

## Fix
- Find what changed at that step: {max_new_tokens}, the context length, a time-out of the engine or of a tool.
- Mask cut completions out of the loss until the limit is back.

## Smallest experiment
Score the same prompts with the old limit: the share of right answers must return.

## References
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    truncation: Series,
    length_max: Series | None = None,
    length_total_max: Series | None = None,
    *,
    most: float = 0.9,
    more: float = 0.02,
    settled: int = 8,
) -> Finding | NotMeasured | None:
    longest = next(
        (s.finite for s in (length_max, length_total_max) if s is not None and len(s.finite) >= 3 * settled), None
    )
    if longest is None:
        return NotMeasured(f"the longest completion of a batch is not logged for {3 * settled} batches")
    values = longest.values
    over = np.flatnonzero(values > np.max(values[-settled:]))
    at = int(over[-1]) + 1 if len(over) else 0
    if at < settled or len(values) - at < settled:
        return None
    before, after = float(np.median(values[max(0, at - 2 * settled) : at])), float(np.max(values[at:]))
    at_cap = float(np.mean(values[at:] == after))
    step = float(longest.steps[at])
    cut = truncation.finite
    earlier, later = cut.between(-np.inf, longest.steps[at - 1]).values, cut.between(step).values
    if not len(earlier) or not len(later) or at_cap < 0.5 or after >= most * before:
        return None
    if float(np.median(later[: 2 * settled])) < float(np.median(earlier[-2 * settled :])) + more:
        return None
    return Finding(
        message=(
            f"no completion is longer than {number(after)} from step {number(step)} on, where {number(before)} had "
            "been usual, and more are cut: a limit was lowered; compare the generation settings before and after"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=longest.name,
        onset=step,
        interval=(float(longest.steps[at - 1]), step),
        evidence=(Evidence(text="longest completion", series=longest, since=step, level=after),),
        facts={"before": before, "after": after},
    )
