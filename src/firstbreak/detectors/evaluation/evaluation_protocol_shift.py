"""The evaluation jumps at a step where nothing in training moved.

## What it looks for
A sudden change of level of the evaluation, clear of its noise, at which the training reward does not change; and
whether the length of what is evaluated jumps with it.

## Why it matters
Skill that comes overnight comes in training as well. A jump that only the evaluation sees is a change of the
question: another temperature, length limit, prompt template, tool permission, episode cap or split. Numbers before
and after cannot be compared, and the best checkpoint of the two halves together is chosen by the protocol.

## When it is a false alarm
The training reward is a proxy (a process reward, a reward that was already at its ceiling) and the skill is new: the
evaluated samples then look different, not only longer or shorter.

## Fix
- Write the evaluation's settings ({eval_temperature}, {max_new_tokens}, split, template, seeds) beside every score,
  or a hash of them.
- Evaluate the checkpoints of one side of the jump again, with the protocol of the other.

## Smallest experiment
Evaluate one old checkpoint with today's protocol. If it jumps as well, the protocol changed and not the policy.

## References
https://arxiv.org/abs/1709.06009
https://github.com/verl-project/verl/issues/6202
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.noise import noise_scale
from firstbreak.stats.onset import Onset, level_shift
from firstbreak.words import number

AROUND = 0.15  #: of the run: what training did within this distance of the jump is compared


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    eval_length_mean: Series | None = None,
    eval_length_clipped_ratio: Series | None = None,
    eval_episode_length: Series | None = None,
    length_mean: Series | None = None,
    *,
    min_points: int = 12,
    size: float = 4.0,
) -> Finding | NotMeasured | None:
    if len(eval_score) < min_points:
        return NotMeasured(f"{len(eval_score)} evaluations are too few to see a jump (needs {min_points})")
    jump = level_shift(eval_score)
    if jump is None or jump.size < size:
        return None
    if reward_mean is None or not _covers(reward_mean, jump):
        return NotMeasured("the evaluation jumps, and no training reward of these steps says whether the policy did")
    if any(_moves(curve, jump) for curve in (reward_mean, length_mean) if curve is not None):
        return None
    lengths = (eval_length_mean, eval_length_clipped_ratio, eval_episode_length)
    beside = next((curve for curve in lengths if curve is not None and _jumps_with(curve, jump)), None)
    return Finding(
        message=(
            f"{eval_score.name} jumped from {number(jump.before)} to {number(jump.after)} at step {number(jump.step)}"
            f"{f', {beside.name} jumped with it,' if beside is not None else ''} and training stayed where it was; "
            "evaluate an old checkpoint with today's protocol"
        ),
        severity=Severity.WARNING if beside is not None else Severity.NOTICE,
        confidence=Confidence.HIGH if beside is not None else Confidence.LOW,
        metric=eval_score.name,
        onset=jump.step,
        interval=jump.interval,
        evidence=(
            Evidence(text="evaluation", series=eval_score, since=jump.step),
            Evidence(text="training reward", series=reward_mean, since=jump.step),
            *([Evidence(text="length", series=beside, since=jump.step)] if beside is not None else []),
        ),
        facts={"before": jump.before, "after": jump.after},
    )


def _sides(curve: Series, jump: Onset) -> tuple[np.ndarray, np.ndarray]:
    """What a curve did shortly before and shortly after the jump."""
    points = curve.finite
    near = AROUND * float(np.ptp(points.steps)) if len(points) else 0.0
    before = points.between(jump.interval[0] - near, np.nextafter(jump.interval[0], -np.inf))
    return before.values, points.between(jump.interval[1], jump.interval[1] + near).values


def _covers(curve: Series, jump: Onset) -> bool:
    return min(len(side) for side in _sides(curve, jump)) >= 3


def _moves(curve: Series, jump: Onset) -> bool:
    """Whether the level changed across the jump by more than two standard errors: generous, so as not to accuse."""
    before, after = _sides(curve, jump)
    if min(len(before), len(after)) < 3:
        return False
    noise = noise_scale(curve.finite.values)
    error = noise * float(np.sqrt(1 / len(before) + 1 / len(after)))
    return abs(float(np.mean(after)) - float(np.mean(before))) > 2 * error


def _jumps_with(curve: Series, jump: Onset) -> bool:
    other = level_shift(curve)
    return other is not None and other.interval[0] <= jump.interval[1] and other.interval[1] >= jump.interval[0]
