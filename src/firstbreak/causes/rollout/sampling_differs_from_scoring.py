"""Sampling and scoring use different settings

## What happens
The engine samples at another temperature or from a truncated distribution, and the trainer scores the text under the
full one. The ratio is wrong from the first update on.

## When it is healthy
A mismatch metric that compares scaled with unscaled logits and is constant.

## Fix
- Use the same {temperature} in sampling and in the log-probabilities; {top_p} = 1.
- Check the ratio of the first minibatch: it must be 1.

## Smallest experiment
One update with learning rate 0: ratio 1 and divergence 0, or the settings differ.

## References
https://github.com/verl-project/verl/issues/4162
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.7
FINDINGS = {
    "first-update-not-on-policy": 0.8,
    "train-inference-mismatch": 0.6,
    "importance-weight-off": 0.4,
    "behave-weight-off": 0.4,
    "clip-fraction-high": 0.3,
    "score-lost": 0.4,
}
EXPERIMENT = Experiment(
    id="same-tokens",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="policy.ratio.mean",
    if_cause="do trainer and engine give the same tokens different probabilities? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
