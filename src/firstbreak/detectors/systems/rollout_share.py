"""Making the data takes nearly all of a step, or takes over more and more of it.

## What it looks for
The time of the rollout as a share of the whole step: its growth against the first half of the run, and its level at
the end.

## Why it matters
The update waits for the slowest rollout. A share that grows says that completions get longer, tools or environments
get slower, or workers are lost, and it grows before any learning curve moves.

## When it is a false alarm
Generation token by token is slow by nature and takes most of a step in most set-ups, and so does a simulator on the
processor. In asynchronous training the rollout overlaps with the update, and then the share says little.

## Fix
- Compare the longest with the mean completion: where few long ones hold up the batch, limit {max_new_tokens} or
  overlap generation with training.
- Give the engine more memory for its cache and more concurrent requests.
- Set a timeout for environments and tools.

## Smallest experiment
Generate one batch with half of {max_new_tokens}: if its time halves, length is the bottleneck; if it does not, look
at the engine or the environment.

## References
https://verl.readthedocs.io/en/latest/perf/perf_tuning.html
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.detectors.systems._shares import against_past, share, step_time
from firstbreak.model import Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import percent


def detect(
    time_rollout: Series,
    time: Mapping[str, Series],
    writes_text: bool = True,
    *,
    growth: float = 0.2,
    most: float = 0.85,
    min_points: int = 12,
) -> Finding | NotMeasured | None:
    whole = step_time(time)
    if whole is None:
        return NotMeasured("the time of a step is not logged")
    shares = share(time_rollout, whole)
    if len(shares) < min_points:
        return NotMeasured(f"{len(shares)} steps with both times are too few (needs {min_points})")
    level = against_past(shares, growth)
    if level.now > 1:
        return NotMeasured("the rollout takes longer than the step: the two overlap, or are counted differently")
    if not level.grown and level.now < most:
        return None
    how = f"grew from {percent(level.before)} to" if level.grown else "takes"
    where = (
        "compare the longest with the mean completion, then look at the engine's speed"
        if writes_text
        else "profile a step of the environment, and try more of them side by side"
    )
    return Finding(
        message=f"making the data {how} {percent(level.now)} of a step; {where}",
        severity=Severity.WARNING if level.grown else Severity.NOTICE,
        confidence=level.confidence,
        metric="time.rollout",
        onset=level.onset,
        interval=level.interval,
        evidence=(
            Evidence(text=f"{percent(level.now)} of a step", series=shares, since=level.onset, level=level.before),
        ),
        facts={"before": level.before, "now": level.now},
    )
