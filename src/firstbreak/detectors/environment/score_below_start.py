"""The policy only ever gets worse than it was at the start.

## What it looks for
A score that falls from its first level, beyond noise and for good, and was never above it, in the middle of the run
neither. The first evaluation may
come when much has been learned already, so a training reward that rose at first speaks against it.

## Why it matters
A policy that does not learn stays at its first level. To get below it, the optimiser has to work, and in the wrong
direction: a reward or advantage with its sign reversed, actions or labels that are swapped, or steps so large that
the first ones destroyed what was there.

## When it is a false alarm
The prompts or levels get harder on a schedule. The score is a shaped reward that contains a growing penalty. A policy
that was trained before explores first.

## Fix
- Score ten hand-made good and ten bad samples with the reward function: the good ones must win.
- Check the sign of the advantage: after one step on one batch, actions with a positive advantage must be likelier.
- Log the action that was chosen beside the one that was executed.
- Divide {learning_rate} by ten, to rule out steps that are too large.

## Smallest experiment
Flip the sign of the reward for a tenth of the run: if the score now rises, the direction was wrong; if it falls
again, the steps are too large.

## References
https://arxiv.org/abs/2101.00135
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import onset
from firstbreak.stats.shape import Trajectory
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.words import number


def detect(
    score: Series,
    trajectory: Trajectory,
    reward_mean: Series | None = None,
    *,
    min_points: int = 12,
    sure: float = 6.0,
    material: float = 0.01,
) -> Finding | NotMeasured | None:
    if trajectory.n < min_points:
        return NotMeasured(f"{trajectory.n} scores are too few to see a decline (needs {min_points})")
    if trajectory.kind != "declining" or (reward_mean is not None and shape_of(reward_mean).learned):
        return None
    if trajectory.drop < material * max(abs(trajectory.start), abs(trajectory.end)):
        return None  # the last digits of a score that stands still
    if np.median(score.values[len(score) // 4 : -(len(score) // 4)]) >= trajectory.start:
        return None  # it held its first level for most of the run: what came then is a loss of it
    began = onset(score, direction=-1, kinds=("level", "ramp"))
    first, last = float(score.steps[0]), trajectory.end_step
    certain = trajectory.drop_sigma >= sure
    return Finding(
        message=(
            f"{score.name} fell from {number(trajectory.start)} to {number(trajectory.end)} and was never above its "
            "start: the updates do harm from the first on; check the signs of reward and advantage, the mapping of "
            "actions and labels, then the step size"
        ),
        severity=Severity.CRITICAL if certain else Severity.WARNING,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        metric=score.name,
        onset=began.step if began else first,
        interval=began.interval if began else (first, last),
        evidence=(Evidence(text="score, with its first level", series=score, level=trajectory.start),),
        facts={"drop": trajectory.drop, "drop_sigma": trajectory.drop_sigma},
    )
