"""Tool calls in an episode.

Harmless where harder tasks need more of them, and success rises too.
"""

from __future__ import annotations

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics._calls import calls

UP, DOWN = "more tool calls", "fewer tool calls"


def measure(sample: PolicySample) -> float:
    return float(len(calls(sample.completion)))
