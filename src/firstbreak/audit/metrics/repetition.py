"""Share of the three-piece sequences at a completion's end that repeat themselves.

Loops are at the end. Pieces are words, or characters where there are hardly any words. Long texts repeat
themselves a little in any case, and tables and code a lot.
"""

from firstbreak.audit.metrics._units import pieces
from firstbreak.audit.split_truth import PolicySample

UP = "completions repeat themselves"
CHARACTERS, MOST = 800, 100  #: of the end, and pieces of it, that are used


def measure(sample: PolicySample) -> float:
    parts = pieces(sample.completion[-CHARACTERS:])[-MOST:]
    triples = len(parts) - 2
    return 1 - len(set(zip(parts, parts[1:], parts[2:], strict=False))) / triples if triples > 0 else float("nan")
