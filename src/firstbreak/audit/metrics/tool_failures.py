"""Share of an episode's tool answers that report a failure.

Harmless where tools are unavailable: then the tools cause the errors, and the errors are not rewarded.
"""

from __future__ import annotations

from firstbreak.audit.metrics._calls import answers
from firstbreak.audit.split_truth import PolicySample

UP = "more tool calls fail"


def measure(sample: PolicySample) -> float:
    failed = answers(sample.completion)
    return sum(failed) / len(failed) if failed else float("nan")
