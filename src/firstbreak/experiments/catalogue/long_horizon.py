"""A discount of 0.99

## What is done
The discount is 0.99.

## What it tells
A score that rises now needed rewards that lay beyond the horizon.

## When it misleads
In episodes of a few steps a small discount is right.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"gamma": 0.99}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"horizon-too-short": 0.85, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", "value_based", None)
