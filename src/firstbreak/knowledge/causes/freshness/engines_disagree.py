"""Trainer and inference engine disagree about the same tokens

## What happens
The engine that samples and the trainer that updates compute different probabilities for the same text: other kernels or
precision, a cache that was not reset, or other sampling settings. On-policy training is then off-policy, and no curve of
the score shows this.

## When it is healthy
A small constant difference. Metrics that compare scaled with unscaled logits.

## Fix
- Compare both engines on the same fifty completions, token by token.
- Reset the prefix cache at each weight update. Use the same precision, temperature and top-p in both engines.
- Correct with truncated importance weights ({is_correction}).

## Smallest experiment
Run a tenth of the run with {learning_rate} = 0, and compare the log-probabilities of both engines on the same tokens: if
they differ although the weights are equal, the engines disagree.

## References
https://github.com/allenai/open-instruct/pull/1473
"""

from __future__ import annotations

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight

FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "engine-disagrees": 0.95,
    "first-update-not-on-policy": 0.8,
    "train-inference-mismatch": 0.9,
    "mismatch-growing": 0.2,
    "importance-weight-off": 0.3,
    "grad-norm-explosion": 0.15,
    "score-lost": 0.4,
}
SETTINGS = {"is_correction": Side.OFF}
EXPERIMENT = "same-tokens"


def weights(inputs: Inputs) -> list[Weight]:
    """With sampling options other than 1, a difference is more probably theirs."""
    known = [inputs.run.config.number(name) for name in ("temperature", "top_p")]
    if any(value is not None and value != 1 for value in known):
        return [configured("config", -1.0, "rollouts are sampled with a temperature or top-p other than 1")]
    return []
