"""The training reward rises while the independent evaluation falls.

## What it looks for
Trends of the training reward and of an evaluation that is a different number (accuracy, success, another
environment), over their common range: reward up with evaluation down is critical, reward up by much with evaluation
flat is a warning.

## Why it matters
The two curves measure the same ability through different eyes. When they part, the policy has found what the reward
pays for and the evaluation does not: reward hacking, over-optimisation, or a reward that measures something else.

## When it is a false alarm
The evaluation runs under another protocol (temperature, length limit, prompt template) than training. It has so few
points or samples that its trend is noise. Format is learned first and answers later. The return of an
environment that is evaluated no lower than it is in training has not parted from it, and is left alone.

## Fix
- Read the highest-rewarded samples of the latest checkpoint before anything else.
- Log the reward components apart, and see which one pays.
- Go back to the checkpoint with the best evaluation; strengthen {kl_coef}.

## Smallest experiment
Score 50 samples of the best-evaluated and of the latest checkpoint by hand, blind: if the latest is not better, the
reward is wrong.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, rises
from firstbreak.stats.shape import trajectory
from firstbreak.stats.trend import trend
from firstbreak.words import number


def detect(
    reward_mean: Series,
    truth: Series,
    solved: bool | None = None,
    writes_text: bool | None = None,
    *,
    large: float = 2.0,
    min_points: int = 8,
) -> Finding | NotApplicable | NotMeasured | None:
    start, end = max(reward_mean.steps[0], truth.steps[0]), min(reward_mean.steps[-1], truth.steps[-1])
    earlier = truth.finite.between(-np.inf, start)
    first = (
        float(earlier.steps[-1]) if len(earlier) else float(start)
    )  # an evaluation before training belongs to its start
    reward, judged = reward_mean.finite.between(start, end), truth.finite.between(first, end)
    if min(len(reward), len(judged)) < min_points:
        return NotMeasured(f"{len(judged)} evaluations are too few for a trend (needs {min_points})")
    if len(reward) == len(judged) and np.allclose(reward.values, judged.values):
        return NotApplicable("the evaluation is the training reward under another name")
    up, shape = trend(reward), trajectory(judged)
    if not rises(reward) or not (shape.lost or shape.kind == "flat"):
        return None
    if judged.name == "eval.reward" and not writes_text and _late(judged) >= _late(reward):
        return None
    fell = shape.lost
    if solved and not fell:
        return None  # an evaluation at its ceiling cannot follow
    if not fell and up.signal_to_noise < large:
        return None
    parting = departure(judged.between(shape.best_step), direction=-1) if fell else None
    since = parting[0] if parting else shape.best_step if fell else float(start)
    return Finding(
        message=(
            f"the reward rose by {number(up.change)} while {judged.name} "
            + (f"fell from {number(shape.best)} to {number(shape.end)}" if fell else f"stayed at {number(shape.end)}")
            + ": the reward pays for something else; read its best-rewarded samples first"
        ),
        severity=Severity.CRITICAL if fell else Severity.WARNING,
        confidence=Confidence.HIGH if fell else Confidence.LOW,
        metric=judged.name,
        onset=since,
        interval=parting[1] if parting else None,
        evidence=(
            Evidence(text="training reward", series=reward_mean),
            Evidence(text="evaluation", series=truth, since=since),
        ),
    )


def _late(curve: Series) -> float:
    """The level of the last fifth."""
    return float(np.median(curve.tail(0.2).values))
