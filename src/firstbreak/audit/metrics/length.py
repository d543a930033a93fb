"""Length of a completion, in characters.

Harmless if an independent score rises as well (longer and better), or does not fall (shorter and more precise).
"""

from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "completions get longer", "completions get shorter"


def measure(sample: PolicySample) -> float:
    return float(len(sample.completion))
