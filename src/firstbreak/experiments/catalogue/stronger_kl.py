"""A strong penalty for leaving the reference

## What is done
The weight of the divergence is 0.5, more than runs usually have. A second arm goes on as it was.

## What it tells
An evaluation that holds where the control's falls: the reward was followed further than it can be trusted.

## When it misleads
It stops all learning, and with it the damage, whatever does it. Where the weight is larger still, it loosens.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, ends_above
from firstbreak.inputs import Inputs

OVERRIDES = {"kl_coef": 0.5, "eval_interval?": 1}
CONTROL = {"eval_interval?": 1}
LENGTH = 0.25
QUESTIONS = (
    Question(
        asks="is the evaluation better than the control's?",
        answer=ends_above("eval_score"),
        needs="eval_score",
        yes={"reward-over-optimised": 0.8, "verifier-exploited": 0.3, "drift-without-gain": 0.2},
        otherwise=0.05,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
