"""A few very long completions hold up every batch.

## What it looks for
The longest completion of a batch compared with the mean, over the second half of the run, if generation takes most of
the step.

## Why it matters
A batch is finished when its longest completion is finished. If one completion is many times longer than the mean, most of
the engine is idle for most of the generation. In asynchronous training the long completions arrive last and are the
oldest: the batch is biased towards short answers.

## When it is a false alarm
An engine that fills free slots with other prompts (continuous batching over many batches) is not idle. Short
generations, where the update dominates the step.

## Fix
- Lower the length limit to about what right answers need ({max_new_tokens}), with an overlong penalty or mask
  ({mask_truncated}).
- Interrupt and resume long completions (partial rollouts), or sample more prompts than needed and take those that finish
  first.
- Sort prompts by expected length, so that long completions share a batch.

## Smallest experiment
Generate one batch with the length limit at the 95th percentile of the lengths: the time that this saves is the cost of the
long completions.

## References
https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/2503.14476
"""

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.knowledge.detectors.systems._shares import share, step_time
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent

FAMILIES = only(Policy.TEXT, why="the policy does not write text")


def detect(
    length_mean: Series | None = None,
    length_max: Series | None = None,
    time_rollout: Series | None = None,
    time: Mapping[str, Series] | None = None,
    *,
    tail_ratio: float = at(5.0, "ratio", "Longest over mean completion: most of the engine is idle."),
    growth_warning: float = at(2.0, "ratio", "Twice as long a tail as at the start."),
    min_rollout_share: float = at(0.5, "share", "Where the update dominates the step, the tail costs little."),
    min_points: int = at(8, "points", "Fewer steps show no level."),
) -> Finding | NotApplicable | NotMeasured | None:
    whole = step_time(time)
    if length_mean is None or length_max is None or time_rollout is None or whole is None:
        return NotMeasured("longest and mean completion, or the time of generation and of a step, are not logged")
    ratio, rollout = share(length_max, length_mean), share(time_rollout, whole)
    if min(len(ratio), len(rollout)) < min_points:
        return NotMeasured(
            f"{min(len(ratio), len(rollout))} steps with lengths and times are too few (needs {min_points})"
        )
    late, taken = float(np.median(ratio.tail(0.5).values)), float(np.median(rollout.tail(0.5).values))
    if late < tail_ratio or taken < min_rollout_share:
        return None
    grown = late >= growth_warning * float(np.median(ratio.head(0.25).values))
    onset = first_sustained(ratio, lambda values: values >= tail_ratio)
    return Finding(
        message=(
            f"the longest completion is {number(late)} times the mean{', and this ratio has grown' if grown else ''}, "
            f"and generation takes {percent(taken)} of a step: the step waits for single completions; measure how much "
            "time a length limit at the 95th percentile saves"
        ),
        severity=Severity.WARNING if grown else Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        **seen_since(
            ratio,
            "longest over mean completion",
            onset,
            metric="length.max",
            level=tail_ratio,
            beside={"share of a step that generation takes": rollout},
        ),
        numbers={"tail": late, "rollout": taken},
    )
