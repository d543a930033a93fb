"""The evaluation is too noisy to show the gain it is there to show.

## What it looks for
The standard error of an evaluation where its episodes are recorded, else the scatter of neighbouring evaluations about a
slow curve; against the gain that they should show: that of the evaluation itself, or of the training reward where both
are rewards.

## Why it matters
The best of several noisy evaluations is chosen for its luck. Checkpoints, learning rates and seeds are then picked by
noise, and a real regression stays unseen for as long.

## When it is a false alarm
The policy itself swings from one evaluation to the next (off-policy methods do): then the same checkpoint evaluated
twice gives the same number. Where every episode of the evaluations is recorded the two are told apart.

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
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.words import number

FEW = 12
WANTED = 0.2  #: of the gain: with noise below this the curve shows it well
STEP = 0.1  #: of the scale of an accuracy: what an evaluation should be able to show


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    score_error: Series | None = None,
    *,
    most: float = 0.5,
    min_points: int = 6,
) -> Finding | NotMeasured | None:
    if len(eval_score) < min_points:
        return NotMeasured(f"{len(eval_score)} evaluations are too few to tell their noise (needs {min_points})")
    known = score_error is not None and eval_score.name == "eval.reward"
    noise = float(np.median(score_error.finite.values)) if known and score_error else noise_scale(eval_score.values)
    gain = _gain(eval_score, reward_mean)
    if gain is None and reward_mean is None:
        return NotMeasured("neither the evaluation nor a training reward shows a gain to compare the noise with")
    if gain is None or noise < most * gain:
        return None
    more = np.ceil((noise / (WANTED * gain)) ** 2)  # the noise of a mean falls with the root of its number
    first = float(eval_score.steps[0])
    return Finding(
        message=(
            f"one evaluation is uncertain by {number(noise)}, where the run gained {number(gain)}: neither a "
            f"regression nor the best checkpoint can be seen; evaluate on about {number(more)} times as many episodes "
            "or prompts"
        ),
        severity=Severity.NOTICE if len(eval_score) < FEW else Severity.WARNING,
        confidence=Confidence.LOW if len(eval_score) < FEW else Confidence.MEDIUM,
        metric=eval_score.name,
        onset=first,
        interval=(first, first),
        evidence=(
            Evidence(text=f"evaluations, noise {number(noise)}", series=eval_score),
            *([Evidence(text="training reward", series=reward_mean)] if reward_mean is not None else []),
        ),
        facts={"noise": noise, "gain": gain},
    )


def _gain(eval_score: Series, reward_mean: Series | None) -> float | None:
    """What the evaluation has to show: the gain of training where both have one unit, else its own, at least `STEP`.

    One that has shown a loss can show one, whatever training says.
    """
    own, trained = shape_of(eval_score), shape_of(reward_mean) if reward_mean is not None else None
    if own.lost and own.drop_interval[0] > 0:
        return max(own.drop, own.gain)
    own_gain = own.gain if own.learned else None
    if trained is None or not trained.learned or trained.lost:
        return own_gain
    return trained.gain if eval_score.name == "eval.reward" else max(own_gain or 0.0, STEP)
