"""The same weights, evaluated again and again

## What is done
The learning rate is 0 and an evaluation follows every step, under one protocol.

## What it tells
A score that jumps between two evaluations of the same weights names the protocol. One that varies as much as it does from
one evaluation of the run to the next says that the evaluation is too small to show anything. Training that goes on scoring
far above the evaluation with the same weights says that the two are built otherwise.

## When it misleads
A sampled evaluation has a spread; only a change of level speaks for the protocol.

## References
https://arxiv.org/abs/2108.13264
"""

from __future__ import annotations

from firstbreak.experiments.questions import (
    Question,
    jumps,
    lies_apart_as_before,
    only_for,
    spreads_as_the_original_moves,
)

OVERRIDES = {"learning_rate": 0.0, "eval_interval": 1}
THEN = {"no": ("train-on-test-set",)}  # the ladder: a baseline evaluation that holds, then the test set
QUESTIONS = (
    Question(
        asks="does the score change its level although the weights do not?",
        answer=jumps("eval_score"),
        needs="eval_score",
        yes={"evaluation-protocol-changed": 0.9, "environment-changed": 0.6},
        otherwise=0.04,
    ),
    Question(
        asks="does it vary as much as between neighbouring evaluations of the run?",
        answer=spreads_as_the_original_moves("eval_score"),
        needs="eval_score",
        yes={
            "evaluation-too-small": 0.85,
            "optimiser-not-connected": 0.6,
            "signal-too-weak": 0.5,
            "prompts-too-hard": 0.5,
        },
        otherwise=0.12,
    ),
    Question(
        asks="does training score above the evaluation although both play one policy?",
        answer=only_for("writes_text", False, lies_apart_as_before("reward_mean", "eval_score", 0.3)),
        needs="eval_score",
        yes={"evaluation-built-otherwise": 0.5},  # an untrained policy does badly in both
        otherwise=0.05,
    ),
)
