"""One pass over each batch

## What is done
Each batch of data is used once. A second arm goes on as it was.

## What it tells
Ratios stay near 1, so that wrong old log-probabilities and a missing clip do no harm: a score that holds now names
them.

## When it misleads
Methods that live on reuse (a replay buffer) learn nothing in one pass.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"epochs_per_batch": 1}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"old-log-probabilities-wrong": 0.8, "clip-missing": 0.7, "step-size-too-large": 0.5, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", "group", None)
