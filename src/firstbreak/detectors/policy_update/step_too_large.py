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
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number

BURST = 3  #: updates in a row
BEYOND_MEASURE = 10.0  #: times the bound of a burst: one such update is enough to lose a policy


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
    size = np.abs(kl.values)
    late = float(np.median(size[len(size) // 2 :]))
    limit = over_target * target if target else far
    lost = trajectory is not None and trajectory.lost
    above = first_sustained(kl, lambda values: np.abs(values) > limit, count=8)
    burst = _burst(kl, limit, growth) if lost else None
    if burst is None and (above is None or late <= limit):
        return None
    harmed = lost or (trajectory is not None and trajectory.kind == "flat")
    since = burst if burst is not None else above
    shown = float(size[kl.steps >= since][:BURST].max()) if burst is not None and since is not None else late
    against = f"{number(shown / target)} times its target of {number(target)}" if target else "no small step any more"
    return Finding(
        message=(
            f"the policy moves by {number(shown)} nats per update ({against}); lower the learning rate or stop the "
            "epochs of a batch early"
        ),
        severity=Severity.CRITICAL if harmed else Severity.WARNING,
        confidence=Confidence.HIGH if harmed else Confidence.MEDIUM,
        metric="kl.old",
        onset=since,
        interval=None if since is None else (since if burst is not None else float(kl.steps[0]), since),
        evidence=(Evidence(text="divergence per update", series=kl_old, since=since, level=limit),),
        facts={"level": shown},
    )


def _burst(kl: Series, limit: float, growth: float) -> float | None:
    """The first step of a burst: some updates in a row beyond the limit and far beyond everything before them, or one
    that is beyond all measure.

    A policy that was thrown away stands still afterwards, so the level at the end shows nothing.
    """
    size = np.abs(kl.values)
    for i in range(BURST, len(size)):
        bound = max(limit, growth * float(np.median(size[:i])))
        in_a_row = len(size) - i >= BURST and size[i : i + BURST].min() > bound
        if in_a_row or size[i] > BEYOND_MEASURE * bound:
            return float(kl.steps[i])
    return None
