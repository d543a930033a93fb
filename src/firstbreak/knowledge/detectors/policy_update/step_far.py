"""One update moves the policy by more than a nat a token.

## What it looks for
Before and after an update, the recorder computes log-probabilities of its batch. The check reports a mean change of a
token's log-probability above `above` nats.

## Why it matters
An update that changes probabilities by factors leaves nothing of the policy that sampled the batch.

## When it is a false alarm
None known for a policy that starts from a trained model.

## Fix
- Lower {learning_rate}, by ten first.
- Clip the gradient ({grad_clip}).

## Smallest experiment
Train ten updates with a tenth of the learning rate.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_step_size: Series,
    config: Config,
    *,
    above: float = at(1.0, "nats", "A sound update of a language model stays below 0.2."),
) -> Finding | None:
    return proved(
        proof_step_size,
        config,
        "one update moves a token's log-probability by {value} nats: lower the learning rate",
        above=above,
    )
