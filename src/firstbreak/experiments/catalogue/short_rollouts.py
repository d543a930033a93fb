"""Half the length limit, on a quiet machine

## What is done
Completions may be half as long, and nothing else runs on the machine. A second arm keeps the limit.

## What it tells
A step that is faster in proportion was spent on the longest completions. One that is as slow waits for something
else.

## When it misleads
A machine that is not quiet.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats
from firstbreak.inputs import Inputs

OVERRIDES = {"max_new_tokens": "/2"}
CONTROL: dict[str, object] = {}
LENGTH = 0.05
QUESTIONS = (
    Question(
        asks="does the rollout take less time?",
        answer=beats("time_rollout", -1),
        needs="time_rollout",
        yes={"phases-out-of-balance": 0.9, "interference": 0.3, "memory-leak": 0.3},
        otherwise=0.5,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
