"""The reward pays for length

## What happens
Longer completions get more reward whatever they say. The policy writes more, the reward rises, completions run into
the length limit, and the true score falls.

## When it is healthy
Length that grows while an independent evaluation rises: more reasoning because it works.

## Fix
- Find the component that grows with length, and take the length out of it.
- Add a length penalty or a measure of information density, and compare in a short run.
- Go back to the checkpoint with the best evaluation.

## Smallest experiment
Score the same completions with the last third cut off: if the reward falls while the answers stay as right, the
reward pays for length.

## References
https://arxiv.org/abs/2310.03716
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 1.2
FINDINGS = {
    "reward-proxy-only": 0.4,
    "length-runaway": 0.85,
    "reward-up-evaluation-down": 0.8,
    "truncation": 0.4,
    "kl-reward": 0.25,
    "score-lost": 0.5,
}
EXPERIMENT = Experiment(
    id="shorter-answers",
    overrides={"reward": "shorter"},
    length=0.25,
    measure="length.mean",
    if_cause="is the evaluation better with the price? yes",
    weight=2.6,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
