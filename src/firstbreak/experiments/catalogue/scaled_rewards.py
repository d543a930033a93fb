"""Rewards divided by their own spread

## What is done
Rewards are divided by a running estimate of their spread. A second arm goes on as it was.

## What it tells
A policy that moves much further in an update than before was held still by the scale: a critic whose errors are huge
fills the clipped gradient, and leaves nothing of it to the policy.

## When it misleads
Running estimates drift at the start of a run. A critic learns small numbers faster, so the score of a healthy run may be
better as well.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"normalize_reward": True}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the policy move more than twice as far in an update as the control's?",
        answer=outruns("kl_old", by=1.0),
        needs="kl_old",
        yes={"reward-scale-wrong": 0.85, "healthy": 0.05},
        otherwise=0.08,
    ),
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"reward-scale-wrong": 0.85, "healthy": 0.3},
        otherwise=0.2,
    ),
)
