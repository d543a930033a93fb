"""Sample four times as many completions for each prompt

## What is done
The group size is multiplied by four, for fewer steps.

## What it tells
If the share of zero-variance groups falls, the completions differ only by chance, and larger groups see the difference. If
the share does not fall, the completions of these prompts cannot differ.

## When it misleads
In a solved task, groups have zero variance and should have.

## References
https://arxiv.org/abs/2402.03300
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import beats
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Method.GROUP_RELATIVE, UNKNOWN)  # only groups of completions per prompt
OVERRIDES = {"group_size": "x4"}
CONTROL: dict[str, object] = {}
LENGTH = 0.04
QUESTIONS = (
    ask(
        "does the share of zero-variance groups fall?",
        beats("reward_zero_std_frac", -1),
        "groups-carry-no-signal 0.9, prompts-too-hard 0.15, answers-misaligned answers-beside-other-prompts 0.2, "
        "premature-convergence 0.4, healthy 0.8, otherwise 0.5",
    ),
)
