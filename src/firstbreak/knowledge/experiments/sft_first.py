"""Start from a model that was trained on the task with SFT

## What is done
Training starts from the supervised model that the user names.

## What it tells
If the score rises from there, the base model almost never found a right answer to learn from.

## When it misleads
Demonstrations that contain the evaluation raise its score without any reinforcement learning.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import rises
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"model": "@sft_model"}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "does the score rise?",
        rises("score"),
        "prompts-too-hard 0.85, groups-carry-no-signal 0.6, healthy 0.7, otherwise 0.2",
    ),
)
