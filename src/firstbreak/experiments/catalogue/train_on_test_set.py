"""Training on the evaluation's own problems

## What is done
The evaluation's problems become the training data.

## What it tells
A score that rises says that method, model and settings can learn: look at the training data, their difficulty, their
labels and their template. One that does not says that the data are not to blame: settings, base model, or supervised
training first.

## When it misleads
A handful of problems is learned by heart; the question is only whether anything is learned.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"data": "test"}
LENGTH = 0.15
THEN = {"yes": ("dynamic-filtering", "one-prompt"), "no": ("usual-settings", "sft-first")}
QUESTIONS = (
    Question(
        asks="is the score better than the original's on the test set?",
        answer=outruns("score"),
        needs="score",
        yes={
            "answers-misaligned": 0.85,
            "prompts-too-hard": 0.85,
            "prompts-too-narrow": 0.85,
            "prompt-template-wrong": 0.85,
            "prompts-cut": 0.8,
            "evaluation-contaminated": 0.8,
            "failures-graded-as-success": 0.6,
            "healthy": 0.2,
        },
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
