"""The untrained policy scores far more in training than in the evaluation.

## What it looks for
The training reward of the first steps against the first evaluations: at least `times` of it, before training can have made
a difference.

## Why it matters
At the start both numbers measure the same policy. Training that scores higher samples colder or from a narrower
nucleus than the evaluation (or than the log-probabilities know), has easier prompts, or pays for something else than
the answer.

## When it is a false alarm
Training on easier problems, or with partial credit, on purpose.

## Fix
- Compare temperature, top-p, length limit and verifier of training and evaluation.
- Evaluate once with the sampling settings of training.

## Smallest experiment
Put the evaluation's problems through one training rollout without an update, and compare the scores.

## References
https://arxiv.org/abs/2503.20783
"""

from __future__ import annotations

from firstbreak.detectors._start import starts
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    writes_text: bool | None = None,
    eval_score: Series | None = None,
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_component_mean: dict[str, Series] | None = None,
    *,
    times: float = 1.35,
    apart: float = 0.12,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text:
        return NotApplicable("only where training and evaluation grade answers alike")
    found = starts((eval_score, eval_reward), reward_mean, reward_component_mean)
    if isinstance(found, NotMeasured):
        return found
    trained, evaluated, curve = found
    if trained - evaluated < apart or trained < times * evaluated:
        return None
    first = float(curve.steps[0])
    return Finding(
        message=(
            f"at the start the policy scores {number(trained)} in training and {number(evaluated)} in the evaluation: "
            "training samples or grades differently; evaluate once with the sampling settings of training"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=curve.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="training", series=curve), Evidence(text="evaluation", series=eval_score)),
        facts={"trained": trained, "evaluated": evaluated},
    )
