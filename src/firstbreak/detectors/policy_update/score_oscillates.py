"""The score swings between good and bad and does not settle.

## What it looks for
How far neighbouring evaluations of the second half lie apart, beyond what the spread of their own episodes explains,
against everything that was gained: above `swing` of the gain the policy itself swings. Where the spread of the episodes is
not recorded, the measurement may swing as well: more is asked for, and no more than a warning is given.

## Why it matters
The policy forgets and learns again. Which checkpoint one gets is luck, and a comparison with another run says nothing.

## When it is a false alarm
Evaluations of one or two episodes on a task with random starts. Self-play, where the opponent changes.

## Fix
- Evaluate on more episodes: first find out whether the policy swings or only its measurement.
- Lower {learning_rate}; larger {batch_size}; for off-policy methods a slower target network and a larger buffer.
- Keep the best checkpoint by evaluation, never the last.

## Smallest experiment
Evaluate three neighbouring checkpoints with fifty episodes each: if they agree, the measurement swings, not the policy.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent

UNKNOWN_SPREAD = 1.6  #: how much more is asked for where the evaluations may be noisy themselves


def detect(
    score: Series,
    trajectory: Trajectory,
    solved: bool | None = None,
    score_error: Series | None = None,
    *,
    swing: float = 0.25,
    grave: float = 0.5,
    min_points: int = 16,
) -> Finding | NotApplicable | NotMeasured | None:
    if not score.name.startswith("eval."):
        return NotApplicable("a training reward swings with its batches; only an evaluation shows a policy that swings")
    if len(score) < min_points:
        return NotMeasured(f"{len(score)} scores are too few to see swings (needs {min_points})")
    late = score.tail(0.5)
    error = 0.0 if score_error is None else float(np.median(score_error.tail(0.5).values))
    between = float(np.std(np.diff(late.values))) / np.sqrt(2)
    own = float(np.sqrt(max(0.0, between**2 - error**2)))
    share = own / trajectory.gain if trajectory.gain > 0 else 0.0
    asked = swing if score_error is not None else swing * UNKNOWN_SPREAD
    if solved or trajectory.kind == "flat" or (trajectory.kind != "oscillating" and share < asked):
        return None
    beyond = "beyond the noise of their episodes" if score_error is not None else "and their noise is not recorded"
    swings = share >= grave or trajectory.kind == "oscillating"
    return Finding(
        message=(
            f"over the second half {score.name} lies between {number(float(late.values.min()))} and "
            f"{number(float(late.values.max()))}: neighbouring evaluations differ by {percent(share)} of all that was "
            f"gained, {beyond}; keep the best checkpoint, and lower the learning rate"
        ),
        severity=Severity.CRITICAL if swings and score_error is not None else Severity.WARNING,
        confidence=Confidence.HIGH if score_error is not None else Confidence.MEDIUM,
        metric=score.name,
        onset=trajectory.best_step,
        interval=(float(score.steps[0]), max(trajectory.best_step, float(late.steps[0]))),
        evidence=(Evidence(text="score", series=score, since=trajectory.best_step),),
        facts={"share": share},
    )
