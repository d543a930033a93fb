"""Behaviour weights capped at 5

## What is done
The largest weight that an old sample may get is 5.

## What it tells
Weights and gradient that calm down, and a score that rises: a few old samples had steered the update.

## When it misleads
A cap hides that rollouts are too old; look at the share that it cuts.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"behave_weight_cap": 5.0}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"behaviour-weights-uncapped": 0.7, "healthy": 0.05},
        otherwise=0.08,
    ),
)
