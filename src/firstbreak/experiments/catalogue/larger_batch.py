"""Four times the batch

## What is done
Four times as many prompts or environment steps for each update.

## What it tells
A score that rises now was hidden in the noise of its gradient.

## When it misleads
Costs four times as much for each step; with everything else healthy it only rises more smoothly.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
https://arxiv.org/abs/1812.06162
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"batch_size": "x4"}
LENGTH = 0.04
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"signal-too-weak": 0.7, "verdicts-noisy": 0.6, "healthy": 0.05},
        otherwise=0.08,
    ),
)
