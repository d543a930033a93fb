"""Sampled tokens are less and less probable for the policy that learns.

## What it looks for
For tokens drawn from the policy, the mean of -log p(token) - H is 0. The check reports where it was 0 in the first
batch, and is more than `above` standard errors above 0 over the later ones.

## Why it matters
The completions come from weights that the updates do not reach.

## When it is a false alarm
Data that is old on purpose, and corrected for. Groups that are chosen by their rewards (dynamic sampling): what is
left out was more probable.

## Fix
- Check that the weights are sent to the engine after every update, and that the engine uses them.

## Smallest experiment
Compare a hash of the weights of trainer and engine after each update.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import summed
from firstbreak.model import Config, Finding, NotApplicable, Role, Series

ROLES = (Role.PROOF,)
ACCEPTS = "rollout.should_accept_fn"  #: AReaL's filter of groups: a function, no option that can be set
FIRST = 3.5  #: standard errors: more in the first batch is no matter of old weights (convention)


def detect(
    proof_sampling_z: Series,
    config: Config,
    proof_sampling_gap: Series | None = None,
    *,
    above: float = at(6.0, "standard errors", "Six standard errors are one in a billion."),
) -> Finding | NotApplicable | None:
    if config.get("dynamic_sampling") or config.raw.get(ACCEPTS):
        return NotApplicable("groups are chosen by their rewards, and completions of those left out were more probable")
    points = proof_sampling_z.finite
    if not len(points) or points.values[0] > FIRST:
        return None
    return summed(points, proof_sampling_gap, above)
