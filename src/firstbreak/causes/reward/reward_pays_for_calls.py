"""The reward pays for tool calls

## What happens
Each call brings a bonus, so the policy calls until the budget is full. The reward rises with the calls; the share of
solved episodes does not follow, and answers come late or not at all.

## When it is healthy
Harder problems that need more calls: then the share of solved episodes rises with them.

## Fix
- Pay for the outcome alone, or for a first useful call and for no other.
- Charge a small cost for each call.

## Smallest experiment
Set the bonus to 0 for a tenth of the run: calls fall back, and the success rate stays.

## References
https://arxiv.org/abs/2504.11536
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "reward-range-changed": 0.3,
    "tool-calls-growing": 0.9,
    "truncation": 0.4,
    "length-runaway": 0.3,
    "reward-proxy-only": 0.3,
}
EXPERIMENT = Experiment(
    id="shorter-answers",
    overrides={"reward": "shorter"},
    length=0.25,
    measure="tool.call_freq",
    if_cause="is the evaluation better with the price? yes",
    weight=2.1,
)


def applies(inputs: Inputs) -> bool:
    """Only agents that call tools."""
    return any(name.startswith("tool.") for name in inputs.run.series)
