"""A hash of the weights on both sides of every delivery

## What is done
After every delivery the tensors of the trainer, of the inference engine and of the evaluation are hashed, and their
adapters are listed.

## What it tells
Sides that differ after a delivery: it failed, left tensors behind, or merged an adapter on one side only.

## When it misleads
An engine that quantises or fuses tensors has other hashes by design: then compare log-probabilities instead.

## References
https://github.com/huggingface/trl/issues/5312
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, weights_differ
from firstbreak.inputs import Inputs

OVERRIDES = {"watch": "weights"}
QUESTIONS = (
    Question(
        asks="do the two sides hold different weights after a delivery?",
        answer=weights_differ("engine"),
        needs="weights",
        yes={"weights-not-delivered": 0.98, "engines-disagree": 0.8},
        otherwise=0.02,
    ),
    Question(
        asks="does the evaluation hold other weights than the trainer?",
        answer=weights_differ("evaluation"),
        needs="weights",
        yes={"evaluation-of-stale-weights": 0.98},
        otherwise=0.02,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
