"""One prompt, again and again

## What is done
Every group of a batch answers the same prompt.

## What it tells
A policy that cannot learn a single answer by heart has a break in reward, advantage or update. One that can has a
break that needs several prompts: baselines over the wrong groups, data, difficulty.

## When it misleads
A prompt that is always or never answered gives no signal: the reward neither rises nor could.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, rises
from firstbreak.inputs import Inputs

OVERRIDES = {"data": "one"}
QUESTIONS = (
    Question(
        asks="does the training reward rise?",
        answer=rises("reward_mean"),
        needs="reward_mean",
        yes={
            "groups-mixed": 0.9,
            "prompts-too-narrow": 0.8,
            "prompts-too-hard": 0.4,
            "evaluation-too-small": 0.85,
            "evaluation-protocol-changed": 0.85,
            "evaluation-of-stale-weights": 0.85,
            "answers-misaligned": 0.6,
            "advantage-sign-wrong": 0.05,
            "optimiser-not-connected": 0.03,
            "verdicts-noisy": 0.4,
            "healthy": 0.85,
        },
        otherwise=0.5,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
