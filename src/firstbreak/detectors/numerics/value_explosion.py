"""The critic's loss or values grow by orders of magnitude, the return does not.

## What it looks for
The value loss and the size of the predicted values over the last quarter against their first fifth, on a logarithmic
scale, beside the shape of the score.

## Why it matters
A critic that chases its own prediction (targets made from the critic that is being trained, a terminal state that
bootstraps, a replay of its own overestimates) grows without bound. Advantages then carry its error, and the policy
follows.

## When it is a false alarm
Values and their loss grow with the returns: with a score that rises, or stays at its ceiling, they should. A DQN at
the maximum return has a loss as large as its values.

## Fix
- Compute targets once per batch, from the network before the update, without a gradient.
- Multiply the bootstrap by (1 - terminated), in the target and in the recursion.
- Slow the target network down ({tau}, {target_update_interval}); take the smaller of two critics.
- Normalise or clip rewards ({normalize_reward}, {reward_clip}); lower {gamma}.

## Smallest experiment
Freeze one batch, train only the critic on it, and compare its mean with the returns of finished episodes: a
prediction above the largest possible return is an error of the target.

## References
https://arxiv.org/abs/1509.06461
https://arxiv.org/abs/1812.02648
https://github.com/tensorflow/agents/issues/316
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._growth import Growth, growth
from firstbreak.model import Confidence, Evidence, Expected, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    value_loss: Series | None = None,
    value_mean: Series | None = None,
    score: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    family: str | None = None,
    *,
    orders: float = 100.0,
    ruin: float = 1e4,
    min_points: int = 20,
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    if value_loss is None and value_mean is None and family in ("group", "preference"):
        return NotApplicable("no critic in this kind of training")
    # A loss is a square: values that grow tenfold raise it a hundredfold.
    powers = ((value_loss, 1), (value_mean, 2))
    grown = [(g, power) for s, power in powers if s is not None and (g := growth(s, min_points)) is not None]
    if not grown:
        return NotMeasured(f"neither the value loss nor the values have {min_points} points")
    suspect = [
        (g, power)
        for g, power in grown
        if np.float_power(g.times, power) >= orders and not _explained(g, value_mean, score)
    ]
    if not suspect:
        return None
    worst, power = max(suspect, key=lambda pair: np.float_power(pair[0].times, pair[1]))
    name, times = worst.curve.name, number(worst.times)
    if solved or (trajectory is not None and trajectory.learned and not trajectory.lost):
        return Expected(f"{name} grew {times} times with the returns: the score rose or is at its ceiling")
    if trajectory is not None and trajectory.kind == "flat" and trajectory.noise == 0:
        return NotMeasured(f"{name} grew, and a score that is always the same cannot say whether it should")
    if (began := worst.since()) is None:
        return None
    since, interval = began
    judged = trajectory is not None and trajectory.kind != "too_short"
    beside = "the score did not rise" if judged else "no score shows that returns did"
    return Finding(
        message=(
            f"{name} grew {times} times and {beside}: the critic chases its own prediction; check the bootstrap target and "
            "the terminal mask"
        ),
        severity=Severity.CRITICAL if judged and worst.times**power >= ruin else Severity.WARNING,
        confidence=Confidence.HIGH if judged else Confidence.LOW,
        metric=name,
        onset=since,
        interval=interval,
        evidence=tuple(Evidence(text=s.name, series=s, since=since) for s in (value_loss, value_mean) if s is not None),
        facts={"growth": worst.times},
    )


def _explained(grown: Growth, value_mean: Series | None, score: Series | None) -> bool:
    """Values begin near 0 by initialisation: up to the size of the returns they have to grow."""
    if value_mean is None or score is None or grown.curve.name != value_mean.name:
        return False
    return grown.late <= 2 * float(np.max(np.abs(score.values)))
