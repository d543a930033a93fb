"""One pass over each batch

## What is done
Each batch of data is used once. A second arm goes on as it was.

## What it tells
A policy that is trained on a batch again and again leaves the one that made it, and with a single pass it hardly can: the
divergence between the two must fall. Where it does not, it was not measured against the policy that made the batch:
the old log-probabilities are wrong, or nothing is updated. A score that holds now was spoiled by the reuse.

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
        asks="is the divergence from the policy that made the batch smaller than the control's?",
        answer=outruns("kl_old", -1),
        needs="kl_old",
        yes={"old-log-probabilities-wrong": 0.03, "optimiser-not-connected": 0.1, "healthy": 0.95},
        otherwise=0.85,
    ),
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"clip-missing": 0.7, "step-size-too-large": 0.2, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", "group", None)
