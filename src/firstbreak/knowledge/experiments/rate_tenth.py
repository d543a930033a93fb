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

from firstbreak.engine.questions import falls
from firstbreak.knowledge.experiments._asked import ask, better_score

OVERRIDES = {"learning_rate": "/10"}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "does the score still fall?",
        falls("score"),
        "step-size-too-large over-fitted 0.05, clip-missing 0.1, gradients-explode 0.05, "
        "off-policy-critic-unstable 0.2, environment-changed 0.8, tools-fail 0.6, observations-wrong 0.5, "
        "healthy 0.02, otherwise 0.25",
    ),
    better_score(
        "step-size-too-large gradients-explode 0.5, off-policy-critic-unstable 0.4, clip-missing 0.5, "
        "drift-without-gain 0.15, healthy 0.04, otherwise 0.05",  # smaller steps drift less, and may gain as much
        than="the original run at the same steps",
    ),
)
