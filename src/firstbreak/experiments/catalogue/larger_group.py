"""Four times the completions of a prompt

## What is done
Four times the group size, for fewer steps.

## What it tells
A share of equal groups that falls says that chance decided whether any completion differed; one that stays says that
they cannot differ.

## When it misleads
Groups of a solved task stay equal, and should.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats
from firstbreak.inputs import Inputs

OVERRIDES = {"group_size": "x4"}
CONTROL: dict[str, object] = {}
LENGTH = 0.04
QUESTIONS = (
    Question(
        asks="does the share of equal groups fall?",
        answer=beats("reward_zero_std_frac", -1),
        needs="reward_zero_std_frac",
        yes={
            "groups-carry-no-signal": 0.9,
            "prompts-too-hard": 0.15,
            "answers-misaligned": 0.2,
            "premature-convergence": 0.4,
            "healthy": 0.8,
        },
        otherwise=0.5,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only groups of completions per prompt."""
    return inputs.get("family") in ("group", None)
