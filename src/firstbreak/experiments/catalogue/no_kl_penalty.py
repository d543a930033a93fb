"""No penalty for leaving the reference

## What is done
The weight of the divergence from the reference model is 0.

## What it tells
A policy that leaves its reference much faster now was held by the penalty. A score that is better as well says that it
was held back from something good.

## When it misleads
Without it a reward model is over-optimised sooner: a short rise proves nothing about a long run.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"kl_coef": 0.0}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the policy leave its reference half as far again as the original did?",
        answer=outruns("kl_ref", by=0.5),
        needs="kl_ref",
        yes={"kl-penalty-too-strong": 0.9, "healthy": 0.03},
        otherwise=0.08,
    ),
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"kl-penalty-too-strong": 0.4, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
