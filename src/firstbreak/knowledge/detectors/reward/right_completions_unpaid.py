"""Right completions get no more than wrong ones.

## What it looks for
The recorder looks for completions that are the right answer but for spaces, marks and capitals, or whose last word is. The
check reports where more than `above` of
them get no more than wrong ones do, from the first batch on.

## Why it matters
What is right is never learned.

## When it is a false alarm
A reward that asks for a form which right completions do not have yet.

## Fix
- Look at the types and the spaces of what is compared: a text is never equal to a number.
- Score one right completion by hand.

## Smallest experiment
Score a right answer by hand, through the trainer's own function.

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
    above: float = at(0.75, "share", "Single right completions may lack a form."),
) -> Finding | None:
    points = proof_reward_unpaid.finite
    if not len(points) or points.values[0] <= above:
        return None
    what = "{value:%} of the right completions get no more than wrong ones: score one by hand"
    return proved(points, config, what, above=above)
