"""Each update moves the policy too far.

## What it looks for
Divergence from the policy before the update (`kl.old`), against its target where one is configured and against its
own past otherwise: a sustained level, not a spike.

## Why it matters
PPO's estimate of the gain is only valid near the policy that collected the data. Beyond that the step is a guess, and
a bad policy then collects the data for the next one.

## When it is a false alarm
The first updates, before the advantage normalisation has seen much. A single spike that recovers. A penalty that is
adapting.

## Fix
- Lower {learning_rate}; fewer {epochs_per_batch} or {minibatches}.
- Stop the epochs of a batch early at {target_kl}.
- Check that advantages are normalised ({normalize_advantage}).

## Smallest experiment
Resume from before the onset with {learning_rate} / 10 for a tenth of the run: the divergence falls by about a hundred
if the step size is the cause.

## References
https://arxiv.org/abs/1707.06347
https://spinningup.openai.com/en/latest/algorithms/ppo.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained, onset
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    kl_old: Series,
    config: Config,
    trajectory: Trajectory | None = None,
    *,
    far: float = 0.1,
    over_target: float = 2.0,
    growth: float = 5.0,
    min_points: int = 10,
) -> Finding | NotMeasured | None:
    kl = kl_old.finite
    if len(kl) < min_points:
        return NotMeasured(f"{len(kl)} values of the divergence per update are too few (needs {min_points})")
    target = config.number("target_kl")
    late = float(np.median(np.abs(kl.tail(0.5).values)))
    limit = over_target * target if target else far
    above = first_sustained(kl, lambda values: np.abs(values) > limit, count=8)
    grown = onset(kl, direction=1)
    jumped = grown is not None and grown.before > 0 and grown.after > growth * grown.before and grown.after > limit / 5
    if not jumped and (above is None or late <= limit):
        return None
    harmed = trajectory is not None and (trajectory.lost or trajectory.kind == "flat")
    since = grown.step if jumped and grown else above
    against = (
        f"{number(late / target)} times its target of {number(target)}"
        if target
        else "a step of that size is no longer small"
    )
    return Finding(
        message=(
            f"the policy moves by {number(late)} nats per update ({against}); lower the learning rate or stop the epochs "
            "of a batch early"
        ),
        severity=Severity.CRITICAL if harmed else Severity.WARNING,
        confidence=Confidence.HIGH if harmed else Confidence.MEDIUM,
        metric="kl.old",
        onset=since,
        interval=grown.interval if jumped and grown else None if since is None else (float(kl.steps[0]), since),
        evidence=(Evidence(text="divergence per update", series=kl_old, since=since, level=limit),),
        facts={"level": late},
    )
