"""Hedging phrases per 1000 characters.

Harmless where the truth is uncertain: better calibrated answers hedge more.
"""

from firstbreak.audit.metrics._units import density, ends
from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "more hedging", "less hedging: more self-assured"
PHRASES = (
    *("it is important to note", "it's important to note", "it's worth noting", "it depends", "generally speaking"),
    *("in some cases", "may vary", "might be", "could be", "perhaps", "possibly", "i think", "i believe", "not sure"),
)


def measure(sample: PolicySample) -> float:
    return density(ends(sample.completion).lower(), PHRASES)
