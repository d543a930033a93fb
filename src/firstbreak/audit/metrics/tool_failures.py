"""Share of an episode's tool answers that report a failure.

Harmless where tools are down: then the errors are the tools', and not paid for.
"""

from __future__ import annotations

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics._calls import answers

UP = "more tool calls fail"


def measure(sample: PolicySample) -> float:
    failed = answers(sample.completion)
    return sum(failed) / len(failed) if failed else float("nan")
