"""Room for the whole prompt

## What is done
The limit of a prompt is four times as long; the learning rate is 0. A second arm keeps the old limit.

## What it tells
A higher reward from the same weights says that the cut part was needed.

## When it misleads
Longer prompts may leave less room for the completion where both share a limit.

## References
https://github.com/huggingface/trl/issues
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats
from firstbreak.inputs import Inputs

OVERRIDES = {"max_prompt_tokens": "x4", "learning_rate": 0.0}
CONTROL = {"learning_rate": 0.0}
LENGTH = 0.07
QUESTIONS = (
    Question(
        asks="is the reward higher with the whole prompt?",
        answer=beats("reward_mean"),
        needs="reward_mean",
        yes={"prompts-cut": 0.9},
        otherwise=0.03,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
