"""The actor that collects has older weights than the learner

## What happens
The rollout uses a copy of the network that is refreshed too rarely, or never. The ratio of a new batch is 1 at the start only,
and the update credits the learner with what an older policy did.

## When it is healthy
A copy that lags by design, with importance weights that correct for it.

## Fix
- Collect with the network that is trained, or copy its weights before each rollout.
- Compare a weight of the actor with the learner's at the start of a rollout.

## Smallest experiment
Print the first ratio of ten rollouts: it must be 1 each time.

## References
https://arxiv.org/abs/1802.01561
"""

from __future__ import annotations

from firstbreak.engine.families import Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.refutations import stored_right_at_first

PRIOR = 0.5
FAMILIES = only(Policy.CONTROL)  # samplers of texts have causes of their own
FINDINGS = {
    "ratio-not-one": 0.9,
    "reward-at-floor": 0.4,
    "reward-flat": 0.5,
    "score-lost": 0.3,
    "entropy-stays-high": 0.2,
    "step-too-large": 0.2,
}
EXPERIMENT = "toy-reward"


def applies(inputs: Inputs) -> bool:
    """Where the recorder saw that the first batch was the learner's own, and later ones were not."""
    return stored_right_at_first(inputs) is not None
