"""Evaluate the same weights again and again

## What is done
The learning rate is 0, and an evaluation with one protocol follows every step.

## What it tells
A score that jumps between two evaluations of the same weights: the protocol changed. A score that varies as much as between
two evaluations of the original run: the evaluation is too small to show anything. A training reward far above the
evaluation score with the same weights: training and evaluation environments are built differently.

## When it misleads
A sampled evaluation has a spread. Only a change of level points to the protocol.

## References
https://arxiv.org/abs/2108.13264
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.questions import jumps, lies_apart_as_before, spreads_as_the_original_moves
from firstbreak.knowledge.experiments._asked import ask

OVERRIDES = {"learning_rate": 0.0, "eval_interval": 1}
THEN = {"no": ("train-on-test-set",)}  # the ladder: a baseline evaluation that holds, then the test set
QUESTIONS = (
    ask(
        "does the score jump although the weights do not change?",
        jumps("eval_score"),
        "evaluation-protocol-changed 0.9, environment-changed 0.6, otherwise 0.04",
    ),
    ask(
        "does the score vary as much as between neighbouring evaluations of the run?",
        spreads_as_the_original_moves("eval_score"),
        "evaluation-too-small 0.85, optimiser-not-connected 0.6, signal-too-weak prompts-too-hard 0.5, otherwise 0.12",
    ),
    ask(
        "is the training reward above the evaluation score although both use the same policy?",
        lies_apart_as_before("reward_mean", "eval_score", 0.3),
        "evaluation-built-otherwise 0.5, otherwise 0.05",  # an untrained policy does badly in both
        needs="eval_score",
        families=only(Policy.CONTROL),
    ),
)
