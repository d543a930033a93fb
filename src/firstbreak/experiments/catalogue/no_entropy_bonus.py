"""No entropy bonus

## What is done
The weight of the entropy bonus is 0.

## What it tells
Entropy that falls and a score that rises: the bonus outweighed the reward.

## When it misleads
Without a bonus some runs settle too early: look at the score, not at the entropy alone.

## References
https://arxiv.org/abs/2408.15150
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"entropy_coef": 0.0}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"entropy-bonus-too-strong": 0.85, "premature-convergence": 0.5, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", "group", None)
