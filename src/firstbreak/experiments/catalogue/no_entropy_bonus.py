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

from firstbreak.experiments.questions import Question, rises
from firstbreak.inputs import Inputs

OVERRIDES = {"entropy_coef": 0.0}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the score rise?",
        answer=rises("score"),
        needs="score",
        yes={"entropy-bonus-too-strong": 0.85, "premature-convergence": 0.5, "healthy": 0.8},
        otherwise=0.2,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", "group", None)
