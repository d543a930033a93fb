"""Rollouts are sampled too cold to explore

## What happens
At a low temperature the completions of a prompt agree. Groups have equal rewards, nothing is learned, and what little
signal there is makes the policy surer of what it does already.

## When it is healthy
A solved task, whose completions agree because they are right; cold sampling in evaluation only.

## Fix
- {temperature} = 1 for rollouts; keep the low one for evaluation.
- If a colder policy is wanted, raise {group_size} as well.

## Smallest experiment
Sample one prompt 32 times at {temperature} = 1 and as now, and count distinct answers.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/3857
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.4
FINDINGS = {
    "sampling-narrow": 0.8,
    "training-above-evaluation": 0.6,
    "zero-variance-groups": 0.8,
    "entropy-collapse": 0.2,
    "reward-flat": 0.3,
    "outputs-alike": 0.2,
}
EXPERIMENT = Experiment(
    id="plain-sampling",
    overrides={"temperature": 1.0},
    length=0.15,
    measure="reward.zero_std_frac",
    if_cause="is the score better than the original's at the same steps? yes",
    weight=2.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))


def facts(inputs: Inputs) -> list[Weight]:
    """The recorded sampling temperature."""
    temperature = inputs.run.config.number("temperature")
    if temperature is None or "temperature" in inputs.run.config.defaulted:
        return []
    cold = temperature < 0.7
    return [Weight(finding="config", weight=1.5 if cold else -2.5, text=f"the sampling temperature is {temperature:g}")]
