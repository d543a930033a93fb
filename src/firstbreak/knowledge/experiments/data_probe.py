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
from firstbreak.knowledge.experiments._asked import hooked

FAMILIES = only(Policy.TEXT)
OVERRIDES = {"watch": "data"}
QUESTIONS = (
    hooked(
        "are prompts of the evaluation also in the training data?",
        lambda prompts_shared: prompts_shared > 0.02,
        "evaluation-contaminated 0.95, otherwise 0.03",
    ),
    hooked(
        "do the training prompts have a different template from the evaluation's prompts?",
        lambda prompts_unlike: prompts_unlike > 0.2,
        "prompt-template-wrong 0.95, prompts-cut 0.8, otherwise 0.04",
    ),
    hooked(
        "are only a few different prompts repeated?",
        lambda prompts_distinct: prompts_distinct < 0.9,
        "prompts-too-narrow 0.9, evaluation-contaminated 0.5, otherwise 0.05",
    ),
    hooked(
        "are the training prompts longer than the evaluation's prompts?",
        lambda prompts_longer: prompts_longer > 1.05,
        "prompts-too-hard 0.7, otherwise 0.06",
    ),
    hooked(
        "are the chosen answers of the preference data worse than the rejected answers?",
        lambda chosen_is_worse: chosen_is_worse > 0.2,
        "preference-data-wrong 0.95, otherwise 0.02",
        needs="preferences",
    ),
)
