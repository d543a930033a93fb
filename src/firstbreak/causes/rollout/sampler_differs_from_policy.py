"""The sampler does not do what the policy would

## What happens
A stop token that is blocked, a minimum length, a logits processor or a forced prefix: what is sampled is not what the
policy assigns probability to, so the updates answer for text that it would not have written.

## When it is healthy
Constraints that are part of the task and are applied when log-probabilities are computed as well.

## Fix
- Remove every processor and minimum from the sampler.
- Compare the sampler's log-probabilities with the trainer's on the same text.

## Smallest experiment
Sample 100 completions with plain settings: if they end by themselves, the sampler was the break.

## References
https://github.com/huggingface/trl/issues/235
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "mismatch-growing": 0.7,
    "train-inference-mismatch": 0.7,
    "truncation": 0.6,
    "step-too-large": 0.4,
    "clip-fraction-high": 0.3,
    "length-runaway": 0.3,
    "importance-weight-off": 0.3,
    "zero-variance-groups": 0.4,
    "score-lost": 0.5,
}
EXPERIMENT = Experiment(
    id="same-tokens",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="length.clipped_ratio",
    if_cause="do trainer and engine give the same tokens different probabilities? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
