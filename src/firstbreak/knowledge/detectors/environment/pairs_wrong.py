"""Preference pairs hold one text twice, or the wrong one first.

## What it looks for
The recorder compares the texts of each pair, and looks them up in the data. The check reports where more than `above`
of the pairs are equal, or swapped on the way to the loss.

## Why it matters
Equal texts teach nothing, and swapped ones teach the opposite.

## When it is a false alarm
None known.

## Fix
- Check the keys that chosen and rejected text are read from, and what the collator makes of them.

## Smallest experiment
Print one pair of a batch beside its row of the data.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_pairs_equal: Series,
    config: Config,
    proof_pairs_swapped: Series | None = None,
    *,
    above: float = at(0.5, "share", "Single pairs of a data set may be equal."),
) -> Finding | None:
    what = "{value:%} of the preference pairs are equal or swapped: print a pair of a batch beside its row of the data"
    found = (proved(curve, config, what, above=above) for curve in (proof_pairs_equal, proof_pairs_swapped) if curve)
    return next((finding for finding in found if finding is not None), None)
