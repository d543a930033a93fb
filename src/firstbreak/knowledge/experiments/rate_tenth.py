"""Divide the learning rate by ten

## What is done
The learning rate is divided by ten. Everything else stays.

## What it tells
If the score no longer falls, the steps were too large. If it still falls, the direction of the updates is wrong.

## When it misleads
A slow fall may need longer than the experiment to show.

## References
https://arxiv.org/abs/1707.06347
"""

from firstbreak.engine.questions import Question, falls
from firstbreak.knowledge.experiments._asked import better_score

OVERRIDES = {"learning_rate": "/10"}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the score still fall?",
        answer=falls("score"),
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
    better_score(
        than="the original run at the same steps",
        yes={
            "step-size-too-large": 0.5,
            "gradients-explode": 0.5,
            "off-policy-critic-unstable": 0.4,
            "clip-missing": 0.5,
            "drift-without-gain": 0.15,  # smaller steps drift less, and may gain as much
            "healthy": 0.04,
        },
        otherwise=0.05,
    ),
)
