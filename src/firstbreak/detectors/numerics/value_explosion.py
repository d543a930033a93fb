"""The critic's loss or its values grow by orders of magnitude without a return to show for it.

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

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import onset
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    value_loss: Series | None = None,
    value_mean: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    growth: float = 100.0,
    ruin: float = 1e4,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    # A loss is a square: values that grow tenfold raise it a hundredfold.
    sizes = [(_size(s), power) for s, power in ((value_loss, 1.0), (value_mean, 2.0)) if s is not None]
    recorded = [(size, power) for size, power in sizes if len(size) >= min_points]
    if not recorded:
        return NotMeasured(f"neither the value loss nor the values have {min_points} points")
    curve, power = max(recorded, key=lambda pair: _growth(pair[0]) ** pair[1])
    times = _growth(curve)
    if times**power < growth:
        return None
    if solved or (trajectory is not None and trajectory.learned and not trajectory.lost):
        return Expected(
            f"{curve.name} grew {number(times)} times with the returns: the score rose or is at its ceiling"
        )
    if trajectory is not None and trajectory.kind == "flat" and trajectory.noise == 0:
        return NotMeasured(f"{curve.name} grew, and a score that is always the same cannot say whether it should")
    began = onset(replace(curve, values=np.log(curve.values)), direction=1, kinds=("level", "ramp"))
    since = began.step if began else None
    severe = times**power >= ruin and trajectory is not None and trajectory.kind != "too_short"
    return Finding(
        message=(
            f"{curve.name} grew {number(times)} times and the score did not rise: the critic chases its own prediction; "
            "check the bootstrap target and the terminal mask"
        ),
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        confidence=Confidence.LOW if trajectory is None else Confidence.HIGH if began else Confidence.MEDIUM,
        metric=curve.name,
        onset=since,
        interval=began.interval if began else None,
        evidence=tuple(Evidence(text=s.name, series=s, since=since) for s in (value_loss, value_mean) if s is not None),
        facts={"growth": times},
    )


def _size(curve: Series) -> Series:
    """Magnitudes above 0."""
    points = curve.finite
    keep = points.values != 0
    return replace(points, steps=points.steps[keep], values=np.abs(points.values[keep]))


def _growth(size: Series) -> float:
    return float(np.median(size.tail(0.25).values)) / float(np.median(size.head(0.2).values))
