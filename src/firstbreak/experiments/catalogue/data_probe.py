"""The training's prompts beside the evaluation's

## What is done
512 training prompts are drawn and compared with the evaluation's prompts, as text.

## What it tells
Prompts that both have: the evaluation is contaminated. Training prompts without the beginning or the end that all of the
evaluation's have: another template. Few different ones: too narrow. Longer ones: probably harder.

## When it misleads
A training set that is meant to be another task than the evaluation's looks like a wrong template.

## References
https://arxiv.org/abs/2405.00332
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, watched
from firstbreak.inputs import Inputs

OVERRIDES = {"watch": "data"}
QUESTIONS = (
    Question(
        asks="are prompts of the evaluation trained on?",
        answer=watched(lambda mean: mean["prompts_shared"] > 0.02, "prompts_shared"),
        needs="hooks",
        yes={"evaluation-contaminated": 0.95},
        otherwise=0.03,
    ),
    Question(
        asks="do training prompts have another form than the evaluation's?",
        answer=watched(lambda mean: mean["prompts_unlike"] > 0.2, "prompts_unlike"),
        needs="hooks",
        yes={"prompt-template-wrong": 0.95, "prompts-cut": 0.8},
        otherwise=0.04,
    ),
    Question(
        asks="do few different prompts come again and again?",
        answer=watched(lambda mean: mean["prompts_distinct"] < 0.9, "prompts_distinct"),
        needs="hooks",
        yes={"prompts-too-narrow": 0.9, "evaluation-contaminated": 0.5},
        otherwise=0.05,
    ),
    Question(
        asks="are training prompts longer than the evaluation's?",
        answer=watched(lambda mean: mean["prompts_longer"] > 1.05, "prompts_longer"),
        needs="hooks",
        yes={"prompts-too-hard": 0.7},
        otherwise=0.06,
    ),
    Question(
        asks="are chosen answers of the preference data worse than the rejected ones?",
        answer=watched(lambda mean: mean["chosen_is_worse"] > 0.2, "chosen_is_worse"),
        needs="preferences",
        yes={"preference-data-wrong": 0.95},
        otherwise=0.02,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
