"""The clip brakes a large part of every batch.

## What it looks for
The share of samples whose ratio was clipped: above `high` for most of the second half of the run.

## Why it matters
The clip is a brake, not a wall: samples that are clipped stop pulling, the others go on. A brake that is always on
says that the learning rate, the number of epochs or the advantages are too large, or that the data are old.

## When it is a false alarm
A low clip range on purpose. Reports of the last epoch only, where most of the batch has done its work.

## Fix
- Lower {learning_rate} or {epochs_per_batch}; larger batches.
- Check the age of the rollouts and whether the old log-probabilities are those of the policy that sampled.

## Smallest experiment
One epoch and one minibatch per batch for 20 updates: the clip fraction must then be 0; if not, the old
log-probabilities are wrong.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import percent


def detect(
    policy_clip_fraction: Series,
    config: Config,
    trajectory: Trajectory | None = None,
    *,
    high: float = 0.35,
    min_points: int = 10,
) -> Finding | Expected | NotMeasured | None:
    clipped = policy_clip_fraction.finite
    if len(clipped) < min_points:
        return NotMeasured(f"{len(clipped)} values of the clip fraction are too few (needs {min_points})")
    if not clipped.values.any() and config.number("updates_per_batch") == 1:
        return Expected(
            "the clip fraction is 0 because each batch is used for one update: the ratio is 1 by construction"
        )
    late = float(np.median(clipped.tail(0.5).values))
    if late < high:
        return None
    since = first_sustained(clipped, lambda values: values >= high)
    harmed = trajectory is not None and (trajectory.lost or trajectory.kind == "flat")
    return Finding(
        message=f"{percent(late)} of the samples are clipped: the update wants to go too far; lower the learning rate",
        severity=Severity.CRITICAL if harmed else Severity.WARNING,
        confidence=Confidence.HIGH if harmed else Confidence.MEDIUM,
        metric="policy.clip_fraction",
        onset=since,
        interval=None if since is None else (float(clipped.steps[0]), since),
        evidence=(Evidence(text="clip fraction", series=clipped, since=since, level=high),),
        facts={"level": late},
    )
