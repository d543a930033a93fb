"""The actions that are executed are not those that the policy chose

## What happens
A wrong index table, a clipped or rescaled range, or a lossy queue stands between policy and environment. The log-
probabilities belong to other actions than the rewards do.

## When it is healthy
Sticky actions or action noise that are part of the task, in training and evaluation alike.

## Fix
- Log the action at the policy and at the environment, and compare 100 of them.
- Check clipping, squashing and the order of discrete actions.

## Smallest experiment
Run a scripted expert through the same wrapper: if it fails there and succeeds without it, the wrapper is the break.

## References
https://arxiv.org/abs/2101.00135
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "actions-without-effect": 0.7,
    "far-from-known-score": 0.7,
    "reward-flat": 0.4,
    "entropy-collapse": 0.35,
    "entropy-stays-high": 0.15,
    "score-lost": 0.2,
}
EXPERIMENT = Experiment(
    id="toy-reward",
    overrides={"reward": "toy"},
    length=0.1,
    measure="reward.mean",
    if_cause="does the toy reward rise? yes",
    weight=0.5,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that act in an environment."""
    return not inputs.get("writes_text")
