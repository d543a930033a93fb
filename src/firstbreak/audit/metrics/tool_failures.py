"""Share of an episode's tool answers that report a failure.

Harmless where tools are unavailable: then the tools cause the errors, and the errors are not rewarded.
"""

from firstbreak.audit.split_truth import PolicySample

UP = "more tool calls fail"


def measure(sample: PolicySample) -> float:
    failed = [turn.failed for turn in sample.turns if turn.failed is not None]
    return sum(failed) / len(failed) if failed else float("nan")
