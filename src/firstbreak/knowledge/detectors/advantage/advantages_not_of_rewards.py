"""The advantages are not what the rewards give.

## What it looks for
The recorder computes the advantages of a batch again from its rewards and the trainer's options. The check reports
where they differ by more than `above`, and no other check says how.

## Why it matters
The policy is trained on other numbers than the reward.

## When it is a false alarm
An estimator of one's own.

## Fix
- Compute the advantages of one group by hand.

## Smallest experiment
Log rewards and advantages of one group side by side.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_advantage_error: Series,
    config: Config,
    proof_advantage_turned: Series | None = None,
    proof_advantage_moved: Series | None = None,
    proof_advantage_regrouped: Series | None = None,
    proof_advantage_raw: Series | None = None,
    proof_group_mixed: Series | None = None,
    proof_through_ends: Series | None = None,
    *,
    above: float = at(0.05, "share", "Single precision gives less."),
) -> Finding | None:
    said = (
        proof_advantage_turned,
        proof_advantage_moved,
        proof_advantage_regrouped,
        proof_advantage_raw,
        proof_group_mixed,
        proof_through_ends,
    )
    if any(curve is not None and (curve.finite.values > 0).any() for curve in said):
        return None
    return proved(
        proof_advantage_error,
        config,
        "the advantages differ by {value:%} from what the rewards give: compute those of one group by hand",
        above=above,
    )
