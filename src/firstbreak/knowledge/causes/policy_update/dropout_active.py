"""Dropout is active where log-probabilities are compared

## What happens
The policy gives a token another probability in every pass. The ratio is not 1 before the first update, and divergences are
noise.

## When it is healthy
The small dropout of an adapter.

## Fix
- Set `disable_dropout=True`, or the dropout of the model's configuration to 0.

## Smallest experiment
Compute the log-probabilities of one batch twice: they must be equal.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.refutations import ratio_is_one, recorded_inside, stored_right_at_first, without_dropout
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight

CONFIGURED = 1.5  #: nats: a dropout that the configuration names (convention)

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *SAMPLED)  # only policies that write text, from samples or pairs
applies = recorded_inside
FINDINGS = {
    "dropout-in-update": 0.95,
    "ratio-not-one": 0.5,
    "reference-not-initial": 0.7,
    "samples-edited": 0.5,
    "samples-of-other-weights": 0.2,
    "update-against-advantages": 0.1,
    "step-far": 0.1,
}
REFUTED_BY = (without_dropout, ratio_is_one, stored_right_at_first)
EXPERIMENT = ("first-ratio", "usual-settings")


def weights(inputs: Inputs) -> list[Weight]:
    """A dropout in the configuration, where the identity itself was not measured."""
    given = inputs.run.config.raw
    named = {
        key: v for key, v in given.items() if "dropout" in key.lower() and isinstance(v, int | float) and 0 < v < 1
    }
    if not named or "proof.dropout" in inputs.run.series:
        return []
    what = " and ".join(f"{name} {value:g}" for name, value in named.items())
    return [configured("config", CONFIGURED, f"the configuration has {what}")]
