"""The length limit cuts the answers

## What happens
Completions hit the limit before the answer comes. The verifier scores them as wrong, most groups become all wrong and
silent, and the score cannot rise.

## When it is healthy
A share of cut completions that falls while the score rises: the policy learns to be brief.

## Fix
- Raise {max_new_tokens}.
- Mask cut completions in the loss ({mask_truncated}), or filter prompts whose answers are long.
- Use a soft length penalty before the limit.

## Smallest experiment
Generate for 50 prompts with four times {max_new_tokens} and score again: if the mean score rises, the limit was the
break.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/5697
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 1.5
FINDINGS = {
    "length-cap-lowered": 0.5,
    "truncation": 0.9,
    "zero-variance-groups": 0.4,
    "reward-at-floor": 0.3,
    "score-lost": 0.4,
    "reward-flat": 0.3,
}
EXPERIMENT = Experiment(
    id="longer-limit",
    overrides={"max_new_tokens": "x4", "learning_rate": 0.0},
    length=0.07,
    measure="reward.mean",
    if_cause="is the reward higher with room to finish? yes",
    weight=3.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
