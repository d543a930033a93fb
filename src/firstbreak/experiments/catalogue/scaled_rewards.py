"""Rewards divided by their own spread

## What is done
Rewards are divided by a running estimate of their spread.

## What it tells
A score that rises and a gradient that calms down: the scale of the reward was wrong.

## When it misleads
Running estimates drift at the start of a run.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"normalize_reward": True}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"reward-scale-wrong": 0.85, "healthy": 0.05},
        otherwise=0.08,
    ),
)
