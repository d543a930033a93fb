"""The completions are sampled by another model than the trained one.

## What it looks for
The recorder counts the forward passes of the trained model while the completions are sampled in the trainer's
process. The check reports where there are none.

## Why it matters
A copy that no update reaches samples: the policy learns from what another one did.

## When it is a false alarm
An engine of its own, such as vLLM, which receives the weights after each update: the recorder leaves the trainer's
own out.

## Fix
- Sample with the model that is trained, or send its weights to the copy after every update.

## Smallest experiment
Compare a hash of the weights of the sampling and of the trained model after each update.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_sampled_elsewhere: Series,
    config: Config,
    *,
    above: float = at(0.5, "flag", "It made a pass, or none."),
) -> Finding | None:
    return proved(
        proof_sampled_elsewhere,
        config,
        "the trained model made no pass while completions were sampled: sample with the model that is trained",
        above=above,
    )
