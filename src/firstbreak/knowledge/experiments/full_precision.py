"""Train in fp32

## What is done
Weights, activations and updates are in fp32. The control arm keeps the original precision.

## What it tells
A policy that moves faster, and a score that is better: the number format had rounded the updates away.

## When it misleads
fp32 needs twice the memory. Use the smaller model if the original model does not fit.

## References
https://arxiv.org/abs/1710.03740
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.questions import outruns
from firstbreak.knowledge.experiments._asked import ask, better_score

OVERRIDES = {"precision": "fp32", "model?": "@small_model"}
CONTROL: dict[str, object] = {}
QUESTIONS = (
    ask(
        "does the policy move away from its reference model faster than in the control arm?",
        outruns("kl_ref"),
        "updates-rounded-away 0.8, healthy 0.05, otherwise 0.08",
        families=only(Policy.TEXT),
    ),
    better_score("updates-rounded-away 0.5, gradients-not-finite engines-disagree 0.4, healthy 0.05, otherwise 0.08"),
)
