"""Right completions got more than wrong ones, and no longer do.

## What it looks for
The recorder looks for completions whose last word is the right answer. The check reports where they were paid in the
first batches, and more than `above` of them get no more than wrong ones from some batch on.

## Why it matters
A judge that does not answer is taken for one that says no.

## When it is a false alarm
A reward that is switched off on purpose.

## Fix
- Look at what happens at the named step: time-outs, quotas, exceptions that become 0.
- Return None where the judge did not answer.

## Smallest experiment
Score a completion of that step by hand, without the handling of exceptions.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_reward_unpaid: Series,
    config: Config,
    *,
    above: float = at(0.9, "share", "Single right completions may lack a form."),
) -> Finding | None:
    points = proof_reward_unpaid.finite
    if not len(points) or points.values[0] > above:
        return None
    what = (
        "{value:%} of the right completions get no more than wrong ones, and got more before: see whether the judge answers, "
        "and read wrong ones that are paid"
    )
    return proved(points, config, what, above=above)
