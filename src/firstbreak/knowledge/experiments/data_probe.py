"""Compare the training prompts with the evaluation's prompts

## What is done
512 training prompts are drawn and compared with the prompts of the evaluation, as text.

## What it tells
Prompts that are in both sets: the evaluation is contaminated. Training prompts that lack the beginning or the end which all
evaluation prompts have: a different template. Only a few different prompts: the training data are too narrow. Longer
prompts: they are probably harder.

## When it misleads
If training and evaluation are different tasks on purpose, the result looks like a wrong template.

## References
https://arxiv.org/abs/2405.00332
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.questions import Question, watched

FAMILIES = only(Policy.TEXT)
OVERRIDES = {"watch": "data"}
QUESTIONS = (
    Question(
        asks="are prompts of the evaluation also in the training data?",
        answer=watched(lambda mean: mean["prompts_shared"] > 0.02, "prompts_shared"),
        needs="hooks",
        yes={"evaluation-contaminated": 0.95},
        otherwise=0.03,
    ),
    Question(
        asks="do the training prompts have a different template from the evaluation's prompts?",
        answer=watched(lambda mean: mean["prompts_unlike"] > 0.2, "prompts_unlike"),
        needs="hooks",
        yes={"prompt-template-wrong": 0.95, "prompts-cut": 0.8},
        otherwise=0.04,
    ),
    Question(
        asks="are only a few different prompts repeated?",
        answer=watched(lambda mean: mean["prompts_distinct"] < 0.9, "prompts_distinct"),
        needs="hooks",
        yes={"prompts-too-narrow": 0.9, "evaluation-contaminated": 0.5},
        otherwise=0.05,
    ),
    Question(
        asks="are the training prompts longer than the evaluation's prompts?",
        answer=watched(lambda mean: mean["prompts_longer"] > 1.05, "prompts_longer"),
        needs="hooks",
        yes={"prompts-too-hard": 0.7},
        otherwise=0.06,
    ),
    Question(
        asks="are the chosen answers of the preference data worse than the rejected answers?",
        answer=watched(lambda mean: mean["chosen_is_worse"] > 0.2, "chosen_is_worse"),
        needs="preferences",
        yes={"preference-data-wrong": 0.95},
        otherwise=0.02,
    ),
)
