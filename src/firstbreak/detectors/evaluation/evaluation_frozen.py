"""The evaluation repeats the very same number while the policy goes on changing.

## What it looks for
The last `repeats` or more evaluations equal to the last digit, while the training reward, the divergence from the
reference or the entropy has a trend over the same steps.

## Why it matters
Two different policies hardly ever score the same to the last digit. A number that does not move comes from weights
that do not move: the evaluation reads an old checkpoint, a copy that is never synchronised, or a cached result. Every
choice of a checkpoint by this curve is void.

## When it is a false alarm
The score is at its ceiling or has fallen to its floor: a whole number, the highest or lowest so far; or any number that
training comes up to and never exceeds, as the best return of an environment without chance. A whole number
from the first evaluation on (-21 in Pong), which a greedy policy keeps until it first succeeds, is a notice.

## Fix
- Log the policy version or a checksum of the weights beside each evaluation.
- Synchronise the evaluation's copy of the policy (and of the observation statistics) before each evaluation.
- Turn off caching of evaluation results by prompt.

## Smallest experiment
Evaluate the weights in the trainer's own process once, with the same protocol. If the number differs from the logged
one, the evaluation looked at other weights.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/callbacks.html
https://github.com/huggingface/trl/issues/5312
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.trend import trend
from firstbreak.words import number

MOVES = 8  #: points of a training curve that it takes to see it move


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    kl_ref: Series | None = None,
    policy_entropy: Series | None = None,
    *,
    repeats: int = 6,
    material: float = 0.06,
    near: float = 0.03,
) -> Finding | Expected | NotMeasured | None:
    if len(eval_score) < repeats:
        return NotMeasured(f"{len(eval_score)} evaluations are too few to see a repetition (needs {repeats})")
    last = float(eval_score.values[-1])
    different = np.flatnonzero(eval_score.values != last)
    start = int(different[-1]) + 1 if len(different) else 0
    same = len(eval_score) - start
    if same < repeats:
        return None
    # Ceilings and floors of a task are whole numbers (500, -21, 0); a frozen 23.452 is neither, whatever went before.
    natural = last == round(last)
    if natural and start and last == np.max(eval_score.values):
        return Expected(f"the last {same} evaluations are all {number(last)} because the score is at its ceiling")
    if natural and start and last == np.min(eval_score.values):
        return None
    since = float(eval_score.steps[start])
    if reward_mean is not None and _ceiling_of(last, reward_mean.between(since).finite, near):
        return Expected(f"the last {same} evaluations are all {number(last)}, which training reaches and never exceeds")
    training = [s.between(since).finite for s in (reward_mean, kl_ref, policy_entropy) if s is not None]
    watched = [s for s in training if len(s) >= MOVES]
    if not watched:
        return NotMeasured(
            f"the last {same} evaluations are all {number(last)}; no training curve shows whether the policy moved"
        )
    moving = [s for s in watched if not trend(s, level=0.99).flat]
    if not moving or (reward_mean is not None and not _material(reward_mean.between(since).finite, material)):
        return None  # at a ceiling the same few problems stay unsolved, and the number with them
    return Finding(
        message=(
            f"the last {same} evaluations are all exactly {number(last)} while {moving[0].name} moves: the evaluation "
            "does not see the current weights; evaluate once in the trainer's own process and compare"
        ),
        severity=Severity.NOTICE if natural else Severity.WARNING,
        confidence=Confidence.LOW if natural else Confidence.HIGH,
        metric=eval_score.name,
        onset=since,
        interval=(float(eval_score.steps[start - 1]) if start else since, since),
        evidence=(
            Evidence(text=f"{same} times {number(last)}", series=eval_score, since=since, level=last),
            Evidence(text="training goes on", series=moving[0], since=since),
        ),
        facts={"value": last, "repeats": same},
    )


def _ceiling_of(value: float, training: Series, near: float) -> bool:
    """Whether training with its exploration comes this near to the value, and never above it."""
    if len(training) < MOVES:
        return False
    top = float(np.max(training.values))
    return top <= value and value - float(np.median(training.tail(0.5).values)) <= near * abs(value)


def _material(rewards: Series, share: float) -> bool:
    """Whether the training reward moved by at least this share of its level since then."""
    if len(rewards) < MOVES:
        return True
    before, after = (float(np.mean(part.values)) for part in (rewards.head(0.2), rewards.tail(0.2)))
    return abs(after - before) > share * max(abs(before), abs(after))
