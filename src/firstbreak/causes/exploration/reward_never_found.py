"""The goal is never reached, so nothing can be learned from it

## What happens
The reward is so sparse that random behaviour hardly ever earns it. The policy sees the floor again and again and has
nothing to follow.

## When it is healthy
A late starter: long at the floor, and then the score lifts.

## Fix
- Easier starts, a curriculum, demonstrations, or hindsight relabelling.
- Intermediate rewards that do not change what is optimal.
- More exploration: {entropy_coef}, action noise, longer before learning starts.

## Smallest experiment
Run a scripted expert (or the right answer) through the same environment: if it earns the reward, it is only never
found.

## References
https://arxiv.org/abs/1707.01495
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 1.2
FINDINGS = {
    "reward-at-floor": 0.9,
    "reward-flat": 0.75,
    "entropy-stays-high": 0.3,
    "far-from-known-score": 0.6,
}
EXPERIMENT = Experiment(
    id="toy-reward",
    overrides={"reward": "toy"},
    length=0.1,
    measure="success_rate",
    if_cause="does the toy reward rise? yes",
    weight=0.5,
)


def applies(inputs: Inputs) -> bool:
    """With groups of completions the same picture means prompts that are too hard."""
    return inputs.get("family") in ("on_policy", "value_based", None)
