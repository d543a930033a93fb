"""Advantages stand beside other completions than their own.

## What it looks for
The recorder computes the advantages of a batch again from its rewards. The check reports where the same numbers are
used in another order, for more than `above` of the rows. In a loop for control, it finds the rows of a minibatch again by
their log-probabilities.

## Why it matters
Every completion is pushed by another one's reward: on average, nothing is learned.

## When it is a false alarm
None known.

## Fix
- Look for a shuffle, a sort, a roll or a gather that moves advantages and not the tokens beside them.

## Smallest experiment
Give one completion of a batch the reward 1 and all others 0: its row must have the largest advantage.

## References
https://arxiv.org/abs/2402.03300
"""

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, NotMeasured, Role, Series

ROLES = (Role.PROOF,)


def detect(
    config: Config,
    proof_advantage_moved: Series | None = None,
    proof_advantage_displaced: Series | None = None,
    *,
    above: float = at(0.01, "share", "The rows that have the same reward do not count."),
) -> Finding | NotMeasured | None:
    if proof_advantage_moved is None and proof_advantage_displaced is None:
        return NotMeasured("firstbreak.recorder() found no rows' advantages again")
    what = "{value:%} of the rows have another row's advantage: look for a shuffle that moves advantages without tokens"
    curves = (c for c in (proof_advantage_moved, proof_advantage_displaced) if c is not None)
    return next((f for c in curves if (f := proved(c, config, what, above=above)) is not None), None)
