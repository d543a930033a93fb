"""Four times the batch

## What is done
Four times as many prompts or environment steps for each update.

## What it tells
A reward that rises now, and did not before, was hidden in the noise of its gradient.

## When it misleads
Costs four times as much for each step. A run that rose anyway only rises more smoothly, which says nothing.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
https://arxiv.org/abs/1812.06162
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, rises_now

OVERRIDES = {"batch_size": "x4"}
LENGTH = 0.04
QUESTIONS = (
    Question(
        asks="does the reward rise where the original's did not?",
        answer=rises_now("reward_mean"),
        needs="reward_mean",
        yes={"signal-too-weak": 0.7, "verdicts-noisy": 0.6, "healthy": 0.05},
        otherwise=0.08,
    ),
)
