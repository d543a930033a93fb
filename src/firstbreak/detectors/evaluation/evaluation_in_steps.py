"""The evaluation repeats its number, and moves on only now and then.

## What it looks for
Evaluations that equal the one before them to the last digit, in at least `share` of all cases, though the number moves on
from time to time and training goes on.

## Why it matters
The evaluation sees new weights only now and then: it loads the last checkpoint that was saved, or a copy that is
synchronised every so many evaluations. Its curve lags behind the policy, and the best checkpoint is picked one too late.

## When it is a false alarm
Scores with few possible values (ten problems), or a policy that is greedy and hardly changes.

## Fix
- Log the version of the weights beside each evaluation.
- Evaluate after the weights were handed over, or in the trainer's own process.

## Smallest experiment
Evaluate the weights in the trainer's own process once, and compare with the logged number.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/callbacks.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    eval_score: Series,
    eval_reward: Series | None = None,
    policy_entropy: Series | None = None,
    kl_old: Series | None = None,
    *,
    share: float = 0.5,
    min_points: int = 8,
) -> Finding | NotMeasured | None:
    if len(eval_score) < min_points:
        return NotMeasured(f"{len(eval_score)} evaluations are too few to see repetitions (needs {min_points})")
    curves = [
        eval_score,
        *([eval_reward.finite] if eval_reward is not None and len(eval_reward) == len(eval_score) else []),
    ]
    same = np.logical_and.reduce([np.diff(s.values) == 0 for s in curves])
    possible = max(len(np.unique(s.values)) for s in curves)
    at_end = np.isin(eval_score.values[1:], (0.0, 1.0)) | (
        np.abs(eval_score.values[1:]) == np.max(np.abs(eval_score.values))
    )
    repeated, moved = same & ~at_end, ~same
    if np.mean(repeated) < share or np.sum(moved) < 2 or possible < 3:
        return None
    still = [s for s in (policy_entropy, kl_old) if s is not None and len(s.finite) and np.ptp(s.finite.values) == 0]
    if still:
        return None
    first = float(eval_score.steps[int(np.argmax(repeated))])
    return Finding(
        message=(
            f"{percent(float(np.mean(repeated)))} of the evaluations repeat the one before to the last digit, and the "
            f"number moves on {number(int(np.sum(moved)))} times: the evaluation sees new weights only now and then; "
            "log their version beside it"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric=eval_score.name,
        onset=first,
        interval=(float(eval_score.steps[0]), float(eval_score.steps[int(np.argmax(repeated)) + 1])),
        evidence=(Evidence(text="evaluation", series=eval_score, since=first),),
        facts={"share": float(np.mean(repeated))},
    )
