"""Rewards dealt out anew within each group

## What is done
The rewards of a group (of a step, across environments) change places at random.

## What it tells
Nothing is left to learn from. A score that rises all the same is raised by something else: a leak, a bonus, the
evaluation.

## When it misleads
Models that were trained on the benchmark before can improve from any update at all.

## References
https://arxiv.org/abs/2506.10947
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, rises

OVERRIDES = {"reward": "shuffled"}
QUESTIONS = (
    Question(
        asks="does the score rise although there is nothing to learn from?",
        answer=rises("score"),
        needs="score",
        yes={"evaluation-protocol-changed": 0.3, "environment-changed": 0.2},
        otherwise=0.04,
    ),
)
