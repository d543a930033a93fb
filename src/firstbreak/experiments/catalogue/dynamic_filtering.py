"""Only groups that differ

## What is done
Prompts whose completions all earn the same are replaced by others (DAPO's dynamic sampling).

## What it tells
A score that rises now was starved by groups without differences.

## When it misleads
Where no group differs there is nothing to filter for: the rollouts only take longer.

## References
https://arxiv.org/abs/2503.14476
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"dynamic_sampling": True}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"groups-carry-no-signal": 0.7, "prompts-too-hard": 0.6, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only groups of completions per prompt."""
    return inputs.get("family") in ("group", None)
