"""Noise is divided by its own tiny spread

## What happens
Groups whose rewards differ only by a trace get advantages of full size, because the spread that divides them is as
small. Most of the update then answers noise.

## When it is healthy
A real difference between completions, however small, that an evaluation confirms.

## Fix
- Do not divide by the group's spread ({scale_rewards}), or add a floor to it.
- Gate groups on a real difference of the outcome.

## Smallest experiment
Round rewards to two digits for 20 updates.

## References
https://arxiv.org/abs/2503.20783
https://github.com/verl-project/verl-recipe/pull/125
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "tiny-spread": 0.85,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="reward.group_std",
    if_cause="do two verdicts on one completion differ by a trace? yes",
    weight=2.6,
)


def applies(inputs: Inputs) -> bool:
    """Only groups of completions per prompt."""
    return bool(inputs.get("family") == "group")
