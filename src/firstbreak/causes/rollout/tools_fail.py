"""The tools or the infrastructure behind the rollouts fail

## What happens
Calls end in errors that the policy did not make. Scored as wrong answers they teach it to avoid tools; scored as
right ones, to break them.

## When it is healthy
Errors of syntax in the first steps that the policy unlearns.

## Fix
- Read ten failed calls; tell errors of the policy from errors of the infrastructure.
- Leave trajectories with infrastructure errors out of the batch.

## Smallest experiment
Replay fifty logged calls without a policy: those that fail again are the tool's.

## References
https://arxiv.org/abs/2504.13958
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "tool-errors": 0.95,
    "zero-variance-groups": 0.3,
    "score-lost": 0.6,
    "reward-down-evaluation-up": 0.05,
}
EXPERIMENT = Experiment(
    id="zero-rate",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="tool.error_frac",
    if_cause="does the reward or the score move although the weights stand still? yes",
    weight=2.5,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
