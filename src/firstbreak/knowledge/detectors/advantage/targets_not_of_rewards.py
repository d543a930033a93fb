"""The critic's targets are not what rewards and values give.

## What it looks for
The recorder computes the targets of the critic again. The check reports where they differ by more than `above`, and no
other check says how.

## Why it matters
The critic learns another function, and the policy follows it.

## When it is a false alarm
An estimator of one's own: n-step returns, targets with an entropy term or a clipped reward that the recorder was not given.

## Fix
- Compute the targets of five transitions by hand: reward + {gamma} times the value of what follows, 0 after an end.
- Use the target network for what follows, and the discount once.

## Smallest experiment
Log reward, next value and target of ten transitions side by side.

## References
https://arxiv.org/abs/1312.5602
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_target_error: Series,
    config: Config,
    proof_through_ends: Series | None = None,
    *,
    above: float = at(0.005, "share", "Single precision gives 1e-6, 16 bits 0.004."),
) -> Finding | None:
    if proof_through_ends is not None and (proof_through_ends.finite.values > 0).any():
        return None
    return proved(
        proof_target_error,
        config,
        "the critic's targets differ by {value:%} from what rewards and values give: compute five of them by hand",
        above=above,
    )
