"""The policy learns and goes on sampling as at random.

## What it looks for
An entropy that begins at the logarithm of a small number of actions, as that of a policy that prefers none, and is still
`left` of it in the last fifth of the run, while the score has risen and was not lost again.

## Why it matters
The ranking of the actions is learned, and their probabilities are held together by the entropy bonus (or a temperature): a
greedy evaluation looks well, the policy that collects the data plays at random, and both stay below what can be reached.

## When it is a false alarm
The first part of a long run. Tasks in which nearly all actions are equally good.

## Fix
- Lower {entropy_coef} to 0.01 or 0; let it decay.
- Compare the training return with the greedy evaluation: the gap is what the randomness costs.

## Smallest experiment
{entropy_coef} = 0 for a tenth of the run: entropy and training return have to move.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

import math

import numpy as np

from firstbreak.detectors._start import continued
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent

CHOICES = range(2, 7)  #: more actions than these have logarithms too near to each other to be told apart
NEAR = 0.02


def detect(
    policy_entropy: Series,
    trajectory: Trajectory,
    writes_text: bool | None = None,
    action_std: Series | None = None,
    *,
    left: float = 0.96,
    min_points: int = 30,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text or action_std is not None:
        return NotApplicable("the largest entropy of such a policy is not known")
    entropy = policy_entropy.finite
    if len(entropy) < min_points or continued(entropy):
        return NotMeasured(f"{len(entropy)} values of the entropy from the start on are too few (needs {min_points})")
    start, late = float(np.max(entropy.head(0.1).values)), float(np.median(entropy.tail(0.2).values))
    uniform = next((math.log(k) for k in CHOICES if abs(start / math.log(k) - 1) < NEAR), None)
    if uniform is None:
        return NotMeasured("the entropy does not begin at that of a policy without preferences")
    if trajectory.kind == "flat" or trajectory.lost or late < left * uniform:
        return None
    first = float(entropy.steps[0])
    return Finding(
        message=(
            f"entropy is {number(late)} nats after {len(entropy)} updates, {percent(late / uniform)} of what choosing at "
            "random has, although the score has moved: lower the entropy bonus"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="policy.entropy",
        onset=first,
        interval=(first, float(entropy.steps[len(entropy) // 2])),
        evidence=(Evidence(text="entropy", series=policy_entropy, level=uniform),),
    )
