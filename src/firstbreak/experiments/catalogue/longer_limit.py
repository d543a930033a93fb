"""A longer limit, scored without learning

## What is done
Completions may be four times as long; the learning rate is 0. A second arm keeps the old limit.

## What it tells
A higher reward from the same weights was cut off before.

## When it misleads
A policy that rambles uses any limit; look at the share that ends by itself.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats
from firstbreak.inputs import Inputs

OVERRIDES = {"max_new_tokens": "x4", "learning_rate": 0.0}
CONTROL = {"learning_rate": 0.0}
LENGTH = 0.07
QUESTIONS = (
    Question(
        asks="is the reward higher with room to finish?",
        answer=beats("reward_mean"),
        needs="reward_mean",
        yes={"length-limit-too-short": 0.93, "reward-pays-for-length": 0.3, "sampler-differs-from-policy": 0.2},
        otherwise=0.03,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
