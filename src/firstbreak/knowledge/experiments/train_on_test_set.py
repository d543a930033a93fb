"""Train on the evaluation's own problems

## What is done
The problems of the evaluation become the training data.

## What it tells
If the score rises, method, model and settings can learn: look at the training data, their difficulty, their labels and
their template. If the score does not rise, the data are not the cause: look at the settings and the base model, or train
with SFT first.

## When it misleads
The policy memorises a small number of problems. The question is only whether it learns anything.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import Policy, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Policy.TEXT)
OVERRIDES = {"data": "test"}
LENGTH = 0.15
THEN = {"yes": ("dynamic-filtering", "one-prompt"), "no": ("usual-settings", "larger-batch")}
QUESTIONS = (
    better_score(
        "answers-misaligned answers-beside-other-prompts prompts-too-hard prompts-too-narrow prompt-template-wrong "
        "0.85, prompts-cut evaluation-contaminated 0.8, failures-graded-as-success 0.6, healthy 0.2, otherwise 0.08",
        than="the original run when the test set is the training data",
    ),
)
