"""The untrained policy scores far less in training than in the evaluation.

## What it looks for
The training reward of the first steps against the first evaluations: below 1 / `times` of it, before training can have
made a difference.

## Why it matters
At the start both numbers measure the same policy. A policy that solves the evaluation and fails in training sees
something else there: another prompt template, a stricter or misjoined verifier, a tighter length limit, harder prompts.
What it then learns is not what is evaluated.

## When it is a false alarm
Training on harder problems than those of the evaluation, on purpose.

## Fix
- Print one training prompt and one evaluation prompt as the model gets them, special tokens included.
- Score the evaluation's problems with the training workflow, settings and verifier: the numbers must agree.

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
    times: float = 2.5,
    apart: float = 0.1,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text:
        return NotApplicable("only where training and evaluation grade answers alike")
    found = starts((eval_score, eval_reward), reward_mean, reward_component_mean)
    if isinstance(found, NotMeasured):
        return found
    trained, evaluated, curve = found
    if evaluated - trained < apart or trained * times > evaluated:
        return None
    first = float(curve.steps[0])
    return Finding(
        message=(
            f"at the start the policy scores {number(evaluated)} in the evaluation and {number(trained)} in training: "
            "it does not get the same task there; put the evaluation's problems through one training rollout and "
            "compare"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=curve.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="training", series=curve), Evidence(text="evaluation", series=eval_score)),
        facts={"trained": trained, "evaluated": evaluated},
    )
