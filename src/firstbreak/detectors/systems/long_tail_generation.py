"""A few very long completions hold up every batch.

## What it looks for
The longest completion of a batch against the mean, over the second half of the run, where generation takes most of
the step.

## Why it matters
A batch is finished when its longest completion is. With one that is many times the mean, most of the engine idles for
most of the generation, and in asynchronous training the long ones arrive last and oldest: the batch is biased to
short answers.

## When it is a false alarm
An engine that fills free slots with other prompts (continuous batching over many batches) does not idle. Short
generations, where the update dominates the step.

## Fix
- Cap the length nearer to what right answers need ({max_new_tokens}), with an overlong penalty or mask
  ({mask_truncated}).
- Interrupt and resume long completions (partial rollouts), or over-sample prompts and take what finishes first.
- Sort prompts by expected length, so that long ones share a batch.

## Smallest experiment
Generate one batch with the cap at the 95th percentile of the lengths: the time that it saves is what the tail costs.

## References
https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.detectors.systems._shares import share, step_time
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number, percent

DOMINATES = 0.5  #: share of the step that generation takes


def detect(
    writes_text: bool,
    length_mean: Series | None = None,
    length_max: Series | None = None,
    time_rollout: Series | None = None,
    time: Mapping[str, Series] | None = None,
    *,
    tail: float = 5.0,
    growth: float = 2.0,
    min_points: int = 8,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text:
        return NotApplicable("the policy does not write text")
    whole = step_time(time)
    if length_mean is None or length_max is None or time_rollout is None or whole is None:
        return NotMeasured("longest and mean completion, or the time of generation and of a step, are not logged")
    ratio, rollout = share(length_max, length_mean), share(time_rollout, whole)
    if min(len(ratio), len(rollout)) < min_points:
        return NotMeasured(
            f"{min(len(ratio), len(rollout))} steps with lengths and times are too few (needs {min_points})"
        )
    late, taken = float(np.median(ratio.tail(0.5).values)), float(np.median(rollout.tail(0.5).values))
    if late < tail or taken < DOMINATES:
        return None
    grown = late >= growth * float(np.median(ratio.head(0.25).values))
    onset = first_sustained(ratio, lambda values: values >= tail)
    return Finding(
        message=(
            f"the longest completion is {number(late)} times the mean{', and the gap has grown' if grown else ''}, "
            f"while generation takes {percent(taken)} of a step; measure what a cap at the 95th percentile of the "
            "lengths saves"
        ),
        severity=Severity.WARNING if grown else Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        metric="length.max",
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=(
            Evidence(text="longest over mean completion", series=ratio, since=onset, level=tail),
            Evidence(text="generation's share of a step", series=rollout),
        ),
        facts={"tail": late, "rollout": taken},
    )
