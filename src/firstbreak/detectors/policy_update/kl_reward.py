"""The policy leaves its reference without being paid for it.

## What it looks for
Trend of the divergence to the reference model against the shape of the score, from the second quarter of the run on:
divergence up and score falling is destructive, divergence up and score flat has run its course. Divergence up with a
rising score is learning; a still divergence is convergence; a divergence below `material` nats is no distance at all.

## Why it matters
Distance from the reference is the price of every gain. Where it buys nothing, each step makes the model harder to
recover, and the best version is already on disk.

## When it is a false alarm
The score is at its ceiling and the divergence creeps by little. The score is too noisy for its rise to be seen: the
finding then says how large a rise could hide.

## Fix
- Go back to the best checkpoint by evaluation.
- Raise {kl_coef} or lower {learning_rate}.

## Smallest experiment
Continue from the best checkpoint for a tenth of the run with {learning_rate} divided by ten: if the score still does
not rise, the run has had what the data can give.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, fall_from_best, rises
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    kl_ref: Series,
    score: Series,
    trajectory: Trajectory,
    config: Config,
    solved: bool | None = None,
    *,
    growth: float = 1.5,
    material: float = 0.02,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    kl, points = kl_ref.finite, score.finite
    if len(kl) and not kl.values.any() and config.number("kl_coef") == 0:
        return Expected(
            f"{kl_ref.raw or kl_ref.name} is 0 because the penalty is switched off: no reference is compared with"
        )
    if min(len(kl), len(points)) < min_points:
        return NotMeasured(f"{min(len(kl), len(points))} points are too few to see two trends (needs {min_points})")
    early, late = (float(np.median(part.values)) for part in (kl.head(0.5).tail(0.5), kl.tail(0.25)))
    if not rises(kl) or late < growth * early or late < material:
        return None
    evidence = (Evidence(text="divergence to the reference", series=kl_ref), Evidence(text="score", series=score))
    ratio = f"{number(late / early)} times" if early > 0 else "from zero"
    if trajectory.lost:
        since, interval = fall_from_best(points)
        return Finding(
            message=(
                f"divergence grew {ratio} to {number(late)} while the score fell from {number(trajectory.best)} to "
                f"{number(trajectory.end)}: stop, and go back to step {number(trajectory.best_step)}"
            ),
            severity=Severity.CRITICAL,
            confidence=Confidence.HIGH,
            metric="kl.ref",
            onset=since,
            interval=interval,
            evidence=evidence,
            facts={"cell": "rising/declining"},
        )
    if trajectory.kind not in ("flat", "plateau") or solved:
        return None
    if any(rises(stretch) for stretch in _paid_in(points, trajectory)):
        return None
    start = departure(kl)
    return Finding(
        message=(
            f"divergence grew {ratio} to {number(late)} and bought nothing: the score is at {number(trajectory.end)}; "
            "look at what changes in the samples, and lower the learning rate or stop"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric="kl.ref",
        onset=start[0] if start else None,
        interval=start[1] if start else None,
        evidence=evidence,
        facts={"cell": "rising/flat"},
    )


def _paid_in(score: Series, trajectory: Trajectory) -> tuple[Series, ...]:
    """Where a rise pays for the divergence: where that grew, and for a slow learner the whole run."""
    grown = (score.tail(0.5), score.tail(0.75))
    return (*grown, score) if trajectory.kind == "flat" else grown
