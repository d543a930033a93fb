"""The samples of one prompt are all the same

## What happens
Every worker starts from the same seed, sampling is greedy, or the temperature is near 0. The completions of a group
are copies, so their rewards are equal and no prompt teaches anything.

## When it is healthy
Short answers of a solved task, which agree because they are right.

## Fix
- Give every sample its own seed.
- Check that rollouts are sampled: {temperature}, {top_p}, {top_k}.

## Smallest experiment
Sample one prompt 32 times and count distinct completions.

## References
https://arxiv.org/abs/2310.06452
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.7
FINDINGS = {
    "samples-identical": 0.8,
    "zero-variance-groups": 0.8,
    "outputs-alike": 0.3,
    "no-update": 0.4,
    "gradient-vanished": 0.4,
    "entropy-stays-high": 0.3,
    "ratio-always-one": 0.2,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="diversity.distinct",
    if_cause="are completions of a prompt copies of each other? yes",
    weight=2.7,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
