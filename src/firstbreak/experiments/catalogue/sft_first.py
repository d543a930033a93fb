"""Starting from a model that was shown the task

## What is done
Training starts from the supervised model that the user names.

## What it tells
A score that rises from there says that the base model hardly ever found a right answer to learn from.

## When it misleads
Demonstrations that contain the evaluation raise its score without any reinforcement learning.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, rises
from firstbreak.inputs import Inputs

OVERRIDES = {"model": "@sft_model"}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the score rise?",
        answer=rises("score"),
        needs="score",
        yes={"prompts-too-hard": 0.85, "groups-carry-no-signal": 0.6, "healthy": 0.7},
        otherwise=0.2,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
