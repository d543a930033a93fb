"""The evaluation is too noisy to show the gain it is there to show.

## What it looks for
The largest change that the scatter of the evaluations could hide (95 %), where they show no trend, against what
training gained in the same time. Where the two have different units, `share` of the scale of an accuracy stands for the
gain.

## Why it matters
The best of several noisy evaluations is chosen for its luck. Checkpoints, learning rates and seeds are then picked by
noise, and a real regression stays unseen for as long.

## When it is a false alarm
The evaluation is flat because the policy does not generalise: then more episodes give the same level, and the finding
about reward and evaluation is the one to read.

## Fix
- Evaluate on more episodes or prompts: the noise falls with the square root of their number.
- Use the same prompts and seeds at every evaluation, so that differences are paired.
- Compare checkpoints by the mean of several evaluations.

## Smallest experiment
Evaluate the last checkpoint twice with different seeds. If the two differ by as much as the run gained, the protocol
cannot rank checkpoints.

## References
https://arxiv.org/abs/1709.06560
https://arxiv.org/abs/2108.13264
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.stats.trend import trend
from firstbreak.words import number

FEW = 12


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    solved: bool | None = None,
    *,
    share: float = 0.1,
    min_points: int = 6,
) -> Finding | NotMeasured | None:
    if len(eval_score) < min_points:
        return NotMeasured(f"{len(eval_score)} evaluations are too few to tell their noise (needs {min_points})")
    line = trend(eval_score)
    if solved or not line.flat or line.noise == 0 or shape_of(eval_score).learned:
        return None
    if reward_mean is None:
        return NotMeasured("no training reward is logged, so nothing says what gain the evaluation should show")
    trained = shape_of(reward_mean)
    if not trained.learned or trained.lost:
        return None
    gain = trained.gain if eval_score.name == "eval.reward" else share
    hidden = max(abs(line.interval[0]), abs(line.interval[1])) * float(np.ptp(eval_score.steps))
    if hidden < gain:
        return None
    more = max(2.0, np.ceil((hidden / gain) ** 2))  # the noise of a mean falls with the root of its number
    return Finding(
        message=(
            f"the evaluations scatter by {number(line.noise)} and could hide a change of {number(hidden)}, while "
            f"training gained {number(trained.gain)}; evaluate on about {number(more)} times as many episodes or prompts"
        ),
        severity=Severity.NOTICE if len(eval_score) < FEW else Severity.WARNING,
        confidence=Confidence.LOW if len(eval_score) < FEW else Confidence.MEDIUM,
        metric=eval_score.name,
        onset=float(eval_score.steps[0]),
        interval=(float(eval_score.steps[0]), float(eval_score.steps[0])),
        evidence=(
            Evidence(text=f"evaluations, noise {number(line.noise)}", series=eval_score),
            Evidence(text="training reward", series=reward_mean),
        ),
        facts={"noise": line.noise, "hidden": hidden, "gain": gain},
    )
