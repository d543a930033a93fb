"""The policy does not see the state it should

## What happens
Observations are late, incomplete, or on another scale than before: a buffer index, a wrapper, normalisation
statistics lost on resume. What can be achieved through them is capped.

## When it is healthy
A hard task; partial observability that belongs to it.

## Fix
- Replay recorded transitions: the stored observation must be the one that the environment returned.
- Save and load the normalisation statistics with the model.

## Smallest experiment
Fit the critic on one frozen rollout with the full state and with what the policy sees: the difference is what is missing.

## References
https://arxiv.org/abs/2101.00135
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "observations-off": 0.8,
    "action-effect-moved": 0.3,
    "actions-without-effect": 0.15,
    "score-drops-at-once": 0.5,
    "reward-flat": 0.4,
    "score-lost": 0.5,
    "entropy-stays-high": 0.35,
    "critic-worse-than-mean": 0.2,
    "far-from-known-score": 0.6,
}
EXPERIMENT = Experiment(
    id="critic-only",
    overrides={"policy": "frozen"},
    length=0.1,
    measure="value.explained_variance",
    if_cause="does explained variance rise? no",
    weight=1.2,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that act in an environment."""
    return not inputs.get("writes_text")
