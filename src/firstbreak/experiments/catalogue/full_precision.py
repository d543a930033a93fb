"""Everything in fp32

## What is done
Weights, activations and updates in fp32. A second arm goes on as it was.

## What it tells
A policy that moves faster, and a score that is better: the number format had swallowed its updates.

## When it misleads
Twice the memory: use the smaller model where it does not fit.

## References
https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"precision": "fp32", "model?": "@small_model"}
CONTROL: dict[str, object] = {}
QUESTIONS = (
    Question(
        asks="does the policy leave its reference faster than the control does?",
        answer=outruns("kl_ref"),
        needs="kl_ref",
        yes={"updates-rounded-away": 0.8, "healthy": 0.05},
        otherwise=0.08,
    ),
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"updates-rounded-away": 0.5, "gradients-not-finite": 0.4, "engines-disagree": 0.4, "healthy": 0.05},
        otherwise=0.08,
    ),
)
