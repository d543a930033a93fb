"""Termination and truncation are confused

## What happens
Failures are reported as time limits or the other way round, so the value of the state after the end is counted where
there is none, or left out where there is one.

## When it is healthy
Tasks without early ends, where both are the same.

## Fix
- Check the order of terminated and truncated, and what the wrapper returns for each.
- Bootstrap from the last state only where the episode was cut.

## Smallest experiment
Print the flags of ten episodes that failed and ten that ran out of time.

## References
https://arxiv.org/abs/1712.00378
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "time-limits-vary": 0.8,
    "value-loss-vanishes": 0.7,
    "score-lost": 0.4,
    "value-loss-growing": 0.2,
    "critic-worse-than-mean": 0.3,
    "episode-length-degenerate": 0.15,
    "far-from-known-score": 0.4,
}
EXPERIMENT = Experiment(
    id="toy-reward",
    overrides={"reward": "toy"},
    length=0.1,
    measure="value.mean",
    if_cause="does the toy reward rise? yes",
    weight=0.5,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that act in an environment."""
    return not inputs.get("writes_text")
