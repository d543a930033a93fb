"""A tenth of the learning rate

## What is done
The learning rate divided by ten, everything else as it is.

## What it tells
A score that no longer falls was driven out by steps that were too large. One that falls all the same is led the wrong
way.

## When it misleads
What falls slowly may need longer than the experiment to show it.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, falls, outruns

OVERRIDES = {"learning_rate": "/10"}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the score still fall?",
        answer=falls("score"),
        needs="score",
        yes={
            "step-size-too-large": 0.05,
            "over-fitted": 0.05,
            "clip-missing": 0.1,
            "gradients-explode": 0.05,
            "off-policy-critic-unstable": 0.2,
            "environment-changed": 0.8,
            "tools-fail": 0.6,
            "observations-wrong": 0.5,
            "healthy": 0.02,
        },
        otherwise=0.25,
    ),
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={
            "step-size-too-large": 0.5,
            "gradients-explode": 0.5,
            "off-policy-critic-unstable": 0.4,
            "clip-missing": 0.5,
            "healthy": 0.04,
        },
        otherwise=0.05,
    ),
)
