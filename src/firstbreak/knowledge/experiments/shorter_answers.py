"""Penalise length: go or no-go

## What is done
The reward falls with every character: by what a character was worth in this batch, and a little more. The control arm has
no penalty.

## What it tells
The reward may drop. The evaluation score must rise: then the policy had learned length. If the evaluation score does not
rise, a length penalty is not the fix.

## When it misleads
A penalty that is too high teaches empty answers.

## References
https://arxiv.org/abs/2310.03716
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import ends_above
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"reward": "shorter", "eval_interval?": 1}
CONTROL = {"eval_interval?": 1}
LENGTH = 0.25
QUESTIONS = (
    ask(
        "is the evaluation score better with the length penalty?",
        ends_above("eval_score"),
        "reward-pays-for-length 0.7, reward-pays-for-calls 0.4, otherwise 0.05",
    ),
)
