"""An evaluation on problems that nobody can have seen

## What is done
The evaluation's problems are replaced by fresh ones of the same kind.

## What it tells
A score that is lower on them than the run's own curve was earned on problems that were trained on.

## When it misleads
Fresh problems that are harder score less without any contamination: draw them the way the old ones were drawn.

## References
https://arxiv.org/abs/2405.00332
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats
from firstbreak.inputs import Inputs

OVERRIDES = {"data": "fresh"}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the policy score less on fresh problems?",
        answer=beats("eval_score", -1),
        needs="eval_score",
        yes={"evaluation-contaminated": 0.7},
        otherwise=0.06,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
