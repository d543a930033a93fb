"""One optimizer step on each batch

## What is done
The batch is no longer cut into minibatches, so no step uses data that an earlier step has left behind. A
second arm goes on as it was.

## What it tells
Ratios are 1 by construction. A score that rises now was spoiled by drift within the batch.

## When it misleads
Fewer steps learn more slowly: a flat score says little.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"minibatches": 1, "epochs_per_batch?": 1}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"clip-missing": 0.8, "old-log-probabilities-wrong": 0.7, "step-size-too-large": 0.4, "healthy": 0.05},
        otherwise=0.08,
    ),
)
