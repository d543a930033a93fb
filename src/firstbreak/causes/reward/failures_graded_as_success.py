"""Failed tool calls are graded as success

## What happens
An exception is read as "done", an empty result matches an empty reference. Failing is then the shortest way to the
reward: failures and reward rise together, the true outcome falls.

## When it is healthy
Failures that rise for a while as new tools are tried, and fall again.

## Fix
- Grade the final state, never the text of the last message.
- Hand status codes through to the grader, and give a failed episode the reward of a failure.

## Smallest experiment
Let one tool always fail in a batch: its episodes must get the reward of not having called it.

## References
https://arxiv.org/abs/2209.13085
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "failures-pay": 0.8,
    "tool-errors": 0.3,
    "reward-up-evaluation-down": 0.7,
    "score-lost": 0.5,
    "zero-variance-groups": 0.3,
}
EXPERIMENT = Experiment(
    id="train-on-test-set",
    overrides={"data": "test"},
    length=0.15,
    measure="reward.mean",
    if_cause="is the score better than the original's on the test set? yes",
    weight=2.0,
)


def applies(inputs: Inputs) -> bool:
    """Only agents that call tools."""
    return any(name.startswith("tool.") for name in inputs.run.series)
