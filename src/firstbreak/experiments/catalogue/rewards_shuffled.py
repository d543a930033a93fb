"""Rewards dealt out anew within each group

## What is done
The rewards of a group (of a step, across environments) change places at random. A second arm learns from the true ones.

## What it tells
Nothing is left to learn from, so the score must stay behind. One that does not was not learned from rewards either. A
score that rises all the same is raised by something else: a leak, a bonus, the evaluation.

## When it misleads
Models that were trained on the benchmark before can improve from any update at all.

## References
https://arxiv.org/abs/2506.10947
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns, rises

OVERRIDES = {"reward": "shuffled"}
CONTROL: dict[str, object] = {}
QUESTIONS = (
    Question(
        asks="is the score below the control's, whose rewards are left alone?",
        answer=outruns("score", -1),
        needs="score",
        yes={
            "optimiser-not-connected": 0.03,
            "evaluation-of-stale-weights": 0.1,
            "advantage-sign-wrong": 0.05,
            "reward-sign-wrong": 0.05,
            "answers-misaligned": 0.1,
            "prompts-too-hard": 0.1,
            "verdicts-noisy": 0.3,
            "healthy": 0.8,
        },
        otherwise=0.4,
    ),
    Question(
        asks="does the score rise although there is nothing to learn from?",
        answer=rises("score"),
        needs="score",
        yes={"evaluation-protocol-changed": 0.3, "environment-changed": 0.2},
        otherwise=0.04,
    ),
)
