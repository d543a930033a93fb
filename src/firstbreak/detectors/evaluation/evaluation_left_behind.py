"""Training returns rise, and the evaluation stays where the untrained policy was.

## What it looks for
In environments: a training return that was learned and not lost, and an evaluation that gained less than `little` of what
training gained. In most evaluations of the second half it lies below training by `behind` of that gain or more.

## Why it matters
Both play the same task with the same policy, and the greedy one is rarely worse. A policy that fails only where it is
evaluated is shown something else there: observations without the training's normalisation statistics, another frame
skip, another wrapper, another version.

## When it is a false alarm
Training that pays for something else than the evaluation on purpose (shaped rewards, an easier level).

## Fix
- Evaluate in an environment that is built by the same function, with the training's normalisation statistics, frozen.
- Evaluate without `deterministic` once: where that closes the gap, the greedy policy itself is stuck.

## Smallest experiment
Evaluate the checkpoint in the training environment, without learning: if it scores as in training, the evaluation's is
built otherwise.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/vec_envs.html#vecnormalize
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.shape import trajectory
from firstbreak.words import number


def detect(
    eval_reward: Series,
    reward_mean: Series | None = None,
    writes_text: bool | None = None,
    *,
    little: float = 0.2,
    behind: float = 0.5,
    most: float = 0.8,
    min_points: int = 6,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("an evaluation of texts asks other prompts")
    if reward_mean is None or min(len(reward_mean.finite), len(eval_reward.finite)) < min_points:
        return NotMeasured(f"fewer than {min_points} training returns and evaluations")
    trained, scores = reward_mean.finite, eval_reward.finite
    training, evaluation = trajectory(trained), trajectory(scores)
    if not training.learned or training.lost or evaluation.best - evaluation.start > little * training.gain:
        return None
    late = scores.tail(0.5)
    gap = np.interp(late.steps, trained.steps, trained.values) - late.values
    if float(np.mean(gap > behind * training.gain)) < most:
        return None
    first = float(scores.steps[0])
    return Finding(
        message=(
            f"training returns rose from {number(training.start)} to {number(training.end)}, and the evaluation stays at "
            f"{number(float(np.median(late.values)))}: it shows the policy something else; evaluate once in the training "
            "environment, with its normalisation statistics"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=scores.name,
        onset=first,
        interval=(first, float(late.steps[0])),
        evidence=(
            Evidence(text="evaluation", series=scores),
            Evidence(text="training return", series=trained),
        ),
        facts={"gap": float(np.median(gap))},
    )
