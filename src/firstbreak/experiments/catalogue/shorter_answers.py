"""A price on length: go or no-go

## What is done
Each character costs what characters earn in its batch, and a little more. A second arm goes on without the price.

## What it tells
The reward may drop. The evaluation must rise: then length was what had been learned. Where it does not, the fix is
none.

## When it misleads
A price that is too high teaches silence.

## References
https://arxiv.org/abs/2310.03716
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, ends_above
from firstbreak.inputs import Inputs

OVERRIDES = {"reward": "shorter", "eval_interval?": 1}
CONTROL = {"eval_interval?": 1}
LENGTH = 0.25
QUESTIONS = (
    Question(
        asks="is the evaluation better with the price?",
        answer=ends_above("eval_score"),
        needs="eval_score",
        yes={"reward-pays-for-length": 0.7, "reward-pays-for-calls": 0.4},
        otherwise=0.05,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
