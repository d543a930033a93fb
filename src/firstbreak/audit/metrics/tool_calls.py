"""Tool calls in an episode.

Harmless where harder tasks need more calls, and success rises as well.
"""

from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "more tool calls", "fewer tool calls"


def measure(sample: PolicySample) -> float:
    return float(sum(bool(turn.tool or turn.arguments) for turn in sample.turns))
