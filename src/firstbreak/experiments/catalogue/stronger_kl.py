"""Five times the penalty for leaving the reference

## What is done
The weight of the divergence is multiplied by five (0.05 where there was none). A second arm goes on as it was.

## What it tells
An evaluation that holds where the control's falls: the reward was followed further than it can be trusted.

## When it misleads
A penalty that is too strong stops all learning, and with it the damage.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats
from firstbreak.inputs import Inputs

OVERRIDES = {"kl_coef": "x5"}
CONTROL: dict[str, object] = {}
LENGTH = 0.1
QUESTIONS = (
    Question(
        asks="is the evaluation better?",
        answer=beats("eval_score"),
        needs="eval_score",
        yes={"reward-over-optimised": 0.5, "verifier-exploited": 0.3, "drift-without-gain": 0.2},
        otherwise=0.05,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
