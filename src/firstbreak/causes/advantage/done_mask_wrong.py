"""Advantages run over the ends of episodes

## What happens
The done mask is missing or shifted, so the value of the next episode is counted into this one. Values drift up
towards r / (1 - gamma), and the advantages lose their meaning long before the return shows it.

## When it is healthy
Values near r / (1 - gamma) in a task that never ends.

## Fix
- Multiply the bootstrap value by 1 - terminated, at the right index.
- Compare the returns of one short episode with a sum by hand.

## Smallest experiment
Compute advantages of a hand-made buffer with an end in the middle, and compare with pencil and paper.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.7
FINDINGS = {
    "advantages-not-reproduced": 0.8,
    "value-loss-vanishes": 0.7,
    "score-lost": 0.6,
    "value-loss-growing": 0.2,
    "value-scale-mismatch": 0.2,
    "critic-worse-than-mean": 0.3,
    "far-from-known-score": 0.4,
}
EXPERIMENT = Experiment(
    id="critic-only",
    overrides={"policy": "frozen"},
    length=0.1,
    measure="value.mean",
    if_cause="does explained variance rise? no",
    weight=1.2,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that act in an environment."""
    return not inputs.get("writes_text")
