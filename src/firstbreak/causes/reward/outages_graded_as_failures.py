"""Outages are graded as failures of the policy

## What happens
A judge times out, a sandbox is down, and the episode gets a reward of 0. The training reward falls at once while the
policy is as good as before; every such verdict pushes against what was right.

## When it is healthy
A curriculum that moves on to harder problems.

## Fix
- Mask samples without a verdict out of the loss, and count them.
- Retry the grader before it gives up; alarm on the share of missing verdicts.

## Smallest experiment
Grade twenty episodes with reward 0 again on a healthy grader: those that now pass were outages.

## References
https://arxiv.org/abs/2505.22203
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "reward-down-evaluation-up": 0.85,
    "right-answers-unpaid": 0.4,
}
EXPERIMENT = Experiment(
    id="zero-rate",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="reward.mean",
    if_cause="does the reward or the score move although the weights stand still? yes",
    weight=1.9,
)


def applies(inputs: Inputs) -> bool:
    """Only policies whose answers are graded by something outside."""
    return bool(inputs.get("writes_text"))
