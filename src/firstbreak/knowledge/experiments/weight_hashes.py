"""Compare hashes of the weights after every weight update

## What is done
After every weight update the tensors of the trainer, of the inference engine and of the evaluation are hashed, and their
adapters are listed.

## What it tells
If the sides differ after a weight update, the transfer failed, left tensors out, or merged an adapter on one side only.

## When it misleads
An engine that quantises or fuses tensors has different hashes by design. Compare log-probabilities then.

## References
https://github.com/huggingface/trl/issues/5312
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.questions import weights_differ
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT)
OVERRIDES = {"watch": "weights"}
QUESTIONS = (
    ask(
        "do trainer and inference engine hold different weights after a weight update?",
        weights_differ("engine"),
        "weights-not-delivered 0.98, engines-disagree 0.8, otherwise 0.02",
        needs="weights",
    ),
    ask(
        "does the evaluation use different weights from the trainer?",
        weights_differ("evaluation"),
        "evaluation-of-stale-weights 0.98, otherwise 0.02",
        needs="weights",
    ),
)
