"""Start from another base model

## What is done
Training starts from the base model that the user names.

## What it tells
If the score rises from there, the task was too hard for the first model. If it does not, train with SFT first.

## When it misleads
A larger model also needs other settings, and its answers have another form.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import rises
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"model": "@other_model"}
LENGTH = 0.15
THEN = {"no": ("sft-first",)}
QUESTIONS = (
    ask(
        "does the score of the other model rise?",
        rises("score"),
        "prompts-too-hard 0.6, groups-carry-no-signal 0.5, healthy 0.7, otherwise 0.2",
    ),
)
