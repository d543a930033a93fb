"""Groups without division by their spread

## What is done
Rewards of a group are centred and not divided by their spread (Dr. GRPO).

## What it tells
A gradient norm that falls and a score that rises: tiny differences had been blown up to full size.

## When it misleads
With rewards of 0 and 1 the two differ by a factor of about two only.

## References
https://arxiv.org/abs/2503.20783
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"scale_rewards": "none"}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"tiny-spread-amplified": 0.8, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only groups of completions per prompt."""
    return inputs.get("family") in ("group", None)
