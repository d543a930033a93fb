"""Trainer and inference engine disagree about the same tokens

## What happens
The engine that samples and the trainer that scores compute different probabilities for the same text: other kernels
or precision, a cache that was not reset, other sampling settings. On-policy training is then off-policy without
knowing.

## When it is healthy
A small constant difference; metrics that compare scaled with unscaled logits.

## Fix
- Compare both engines on the same fifty completions, token by token.
- Reset the prefix cache at each weight update; same precision, same temperature and top-p in both.
- Correct with truncated importance weights ({is_correction}).

## Smallest experiment
Replay with learning rate 0: if the difference still grows, the rollout stack is the cause, not the update.

## References
https://github.com/allenai/open-instruct/pull/1473
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

FINDINGS = {
    "first-update-not-on-policy": 0.8,
    "train-inference-mismatch": 0.9,
    "mismatch-growing": 0.2,
    "importance-weight-off": 0.3,
    "grad-norm-explosion": 0.15,
    "score-lost": 0.4,
}
EXPERIMENT = Experiment(
    id="same-tokens",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="rollout_train.kl",
    if_cause="do trainer and engine give the same tokens different probabilities? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))


def facts(inputs: Inputs) -> list[Weight]:
    """With sampling options other than 1, a difference is more probably theirs."""
    known = [inputs.run.config.number(name) for name in ("temperature", "top_p")]
    if any(value is not None and value != 1 for value in known):
        return [Weight(finding="config", weight=-1.0, text="rollouts are sampled at options other than 1")]
    return []
