"""Length of a completion, in characters.

Harmless where an independent score rises with it (longer because better), or falls no further (shorter because sharper).
"""

from __future__ import annotations

from firstbreak.audit.blind import PolicySample

UP, DOWN = "completions get longer", "completions get shorter"


def measure(sample: PolicySample) -> float:
    return float(len(sample.completion))
