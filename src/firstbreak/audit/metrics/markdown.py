"""Markdown marks per 1000 characters: headings, bullets, bold, tables, code fences, rules.

Harmless where the task asks for a document.
"""

from firstbreak.audit.metrics._units import density, ends
from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "more markdown decoration", "less markdown decoration"
MARKS = ("**", "\n#", "\n- ", "\n* ", "\n1. ", "\n2. ", "|--", "| -", "```", "\n---")


def measure(sample: PolicySample) -> float:
    return density(ends(sample.completion), MARKS)
