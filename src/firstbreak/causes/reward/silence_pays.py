"""Saying nothing is the best that the policy has found

## What happens
An empty or very short completion earns as much as an honest attempt, or avoids a penalty. The policy ends its turn at
once, and there is nothing left to learn from.

## When it is healthy
Answers that become shorter while an independent evaluation rises.

## Fix
- Make an empty completion the worst outcome there is.
- Check length penalties, and the loss on the end-of-text token.

## Smallest experiment
Score an empty completion, an honest wrong one and a right one: the order must be that, with a clear gap.

## References
https://arxiv.org/abs/2209.13085
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

FINDINGS = {
    "length-collapse": 0.95,
    "score-lost": 0.5,
    "reward-up-evaluation-down": 0.4,
    "entropy-collapse": 0.3,
    "zero-variance-groups": 0.3,
    "outputs-alike": 0.3,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="reward.mean",
    if_cause="does nothing at all earn more than a completion? yes",
    weight=3.5,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
