"""The policy stays as random as it began.

## What it looks for
Entropy that never leaves its first level (no fall beyond noise, or a fall of less than a twentieth), while the score
is flat.

## Why it matters
Learning makes a policy more certain somewhere. Where entropy and score both stand still, the reward is not absorbed
into the weights: the signal is too weak, too noisy, or drowned by the entropy bonus.

## When it is a false alarm
Short runs. A policy that starts nearly certain (a fine-tuned model) has little entropy to lose. In a log that begins in
mid-run the first level is not that of a policy at random, so nothing is said there.

## Fix
- Lower {entropy_coef}; check that the reward differs between good and bad behaviour.
- Raise {learning_rate}; larger {batch_size} if advantages are noisy.

## Smallest experiment
{entropy_coef} = 0 for a tenth of the run: if the entropy now falls and the score rises, the bonus was too strong.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._start import continued
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent


def detect(
    policy_entropy: Series, trajectory: Trajectory, *, fall: float = 0.05, min_points: int = 30
) -> Finding | NotMeasured | None:
    entropy = policy_entropy.finite
    if len(entropy) < min_points:
        return NotMeasured(f"{len(entropy)} values of the entropy are too few (needs {min_points})")
    if continued(entropy):
        return NotMeasured(
            f"the log begins at step {number(float(entropy.steps[0]))}: the entropy of the start is not in it"
        )
    start, late = float(np.median(entropy.head(0.1).values)), float(np.median(entropy.tail(0.2).values))
    if trajectory.kind != "flat" or start <= 0.1 or late < (1 - fall) * start:
        return None
    return Finding(
        message=(
            f"entropy is {number(late)} nats after {len(entropy)} updates, {percent(late / start)} of its start, and "
            "the score is flat: the policy still acts at random; check that good and bad behaviour get different "
            "rewards"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric="policy.entropy",
        onset=float(entropy.steps[0]),
        interval=(float(entropy.steps[0]), float(entropy.steps[len(entropy) // 2])),
        evidence=(Evidence(text="entropy", series=policy_entropy, level=start),),
    )
