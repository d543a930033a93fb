"""The critic predicts returns no better than their mean would.

## What it looks for
Explained variance below `floor` for most of the second half of the run, or within `constant` of 0 for nearly all of it,
while the returns still vary and the score is not at its ceiling.

## Why it matters
The advantage is the return minus the critic's value. A critic that is worse than a constant adds noise to every
advantage instead of taking it away, and the policy is pushed around by it. One that is a constant takes nothing away:
every advantage is the whole return, which only very large batches can learn from.

## When it is a false alarm
At the reward ceiling all returns are equal, their variance is nearly 0, and explained variance can be any negative
number: -30 is healthy there. Where every reward so far is the same there is nothing to explain. The first updates of any
run. Environments whose returns cannot be predicted.

## Fix
- Normalise rewards or returns; check their scale against the value's.
- More value epochs or a higher critic learning rate; a larger critic; no shared trunk.
- Check the bootstrap at truncation and the terminal mask.

## Smallest experiment
Freeze one batch of rollouts and train only the critic on it: if it cannot fit these returns, the break is in the
critic or its targets; if it can, the targets move too fast.

## References
https://arxiv.org/abs/1506.02438
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent

WRONG = 1e-6  #: squared error


def detect(
    value_explained_variance: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    value_loss: Series | None = None,
    *,
    floor: float = -0.05,
    most: float = 0.7,
    constant: float = 1e-3,
    nearly_all: float = 0.9,
    min_points: int = 10,
) -> Finding | Expected | NotMeasured | None:
    variance = value_explained_variance.finite
    if len(variance) < min_points:
        return NotMeasured(f"{len(variance)} values of explained variance are too few (needs {min_points})")
    late = variance.tail(0.5)
    share = float(np.mean(late.values < floor))
    dead = float(np.mean(np.abs(late.values) < constant)) >= nearly_all and _errs(value_loss)
    if share < most and not dead:
        return None
    if solved:
        return Expected(
            f"explained variance is {number(float(np.median(late.values)))} because the score is at its ceiling: "
            "equal returns have no variance to explain"
        )
    limit = constant if dead else floor
    since = first_sustained(variance, lambda values: values < limit)
    harmful = trajectory is not None and (trajectory.lost or trajectory.kind in ("flat", "oscillating"))
    return Finding(
        message=_constant(late) if dead else _worse(late, floor, share),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if harmful else Confidence.LOW,
        metric="value.explained_variance",
        onset=since,
        interval=None if since is None else (float(variance.steps[0]), since),
        evidence=(Evidence(text="explained variance", series=variance, since=since, level=0.0),),
    )


def _errs(value_loss: Series | None) -> bool:
    """Whether the critic still has something to learn: a loss of 0 beside no explained variance is a constant return."""
    return value_loss is None or bool(np.median(value_loss.finite.tail(0.5).values) > WRONG)


def _constant(late: Series) -> str:
    return (
        f"explained variance is 0 to {number(float(np.quantile(np.abs(late.values), 0.9)))} in the second half: the critic "
        "predicts the same value everywhere; bring returns to the order of 1, and fit it alone on a frozen batch"
    )


def _worse(late: Series, floor: float, share: float) -> str:
    return (
        f"explained variance is below {number(floor)} in {percent(share)} of the second half (median "
        f"{number(float(np.median(late.values)))}): the critic is worse than a constant; fit it alone on a frozen batch"
    )
