"""Values are added across the end of an episode.

## What it looks for
The recorder computes advantages and targets again from rewards, values and ends. The check reports where they are those of
episodes that never end, or that end one step later.

## Why it matters
The value of the next episode's beginning is added to the last steps of this one: the critic's targets rise without end.

## When it is a false alarm
Ends by a time limit after which the value of the last observation is added on purpose: give these as no ends.

## Fix
- Multiply the value of what follows by 1 - done, at the step that ended the episode.
- In CleanRL's convention `dones[t + 1]` belongs to the step t, and `next_done` to the last one.

## Smallest experiment
Compute the advantages of five steps with an end in the middle by hand.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_through_ends: Series,
    config: Config,
    *,
    above: float = at(0.5, "count", "One end is enough."),
) -> Finding | None:
    return proved(
        proof_through_ends,
        config,
        "values are added across {value} ends of episodes: multiply the value of what follows by 1 - done",
        above=above,
    )
