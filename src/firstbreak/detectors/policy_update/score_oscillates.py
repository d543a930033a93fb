"""The score swings between good and bad and does not settle.

## What it looks for
An evaluation that rises and falls again several times by a large part of its range, or whose late values still spread
over most of it.

## Why it matters
The policy forgets and learns again. Which checkpoint one gets is luck, and a comparison with another run says
nothing.

## When it is a false alarm
Evaluations of one or two episodes on a task with random starts. Self-play, where the opponent changes.

## Fix
- Evaluate on more episodes: first find out whether the policy swings or only its measurement.
- Lower {learning_rate}; larger {batch_size}; for off-policy methods a slower target network and a larger buffer.
- Keep the best checkpoint by evaluation, never the last.

## Smallest experiment
Evaluate three neighbouring checkpoints with fifty episodes each: if they agree, the measurement swings, not the
policy.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    score: Series, trajectory: Trajectory, solved: bool | None = None, *, wide: float = 0.5, min_points: int = 16
) -> Finding | NotApplicable | NotMeasured | None:
    if not score.name.startswith("eval."):
        return NotApplicable("a training reward swings with its batches; only an evaluation shows a policy that swings")
    if len(score) < min_points:
        return NotMeasured(f"{len(score)} scores are too few to see swings (needs {min_points})")
    late = score.tail(0.5)
    spread = float(np.quantile(late.values, 0.9) - np.quantile(late.values, 0.1))
    full = float(np.ptp(score.values))
    swings = trajectory.kind == "oscillating"
    unsettled = full > 0 and spread > wide * full and trajectory.kind in ("plateau", "peaked", "declining", "collapsed")
    if solved or not (swings or unsettled):
        return None
    return Finding(
        message=(
            f"over the second half {score.name} lies between {number(float(late.values.min()))} and "
            f"{number(float(late.values.max()))}, {number(spread / full)} of everything it ever spanned: it does not settle; "
            "evaluate on more episodes, then lower the learning rate"
        ),
        severity=Severity.CRITICAL if swings else Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=score.name,
        onset=float(trajectory.best_step),
        interval=(float(score.steps[0]), float(late.steps[0])),
        evidence=(Evidence(text="score", series=score, since=float(trajectory.best_step)),),
        facts={"spread": spread / full},
    )
