"""Sampling at temperature 1, without cuts

## What is done
Temperature 1 and top-p 1, in the rollout and wherever its probabilities are computed again.

## What it tells
A score that rises now was held back by completions that agreed too much, or by probabilities that belong to another
distribution.

## When it misleads
Where the difference lies in code and not in a setting, nothing changes.

## References
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"temperature": 1.0, "top_p?": 1.0, "min_p?": 0.0}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={
            "sampling-too-cold": 0.85,
            "premature-convergence": 0.2,
            "sampling-differs-from-scoring": 0.6,
            "healthy": 0.05,
        },
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
