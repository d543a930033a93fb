"""Share of an episode's tool calls that change nothing.

A call is idle where the record holds the environment's `states` and two that follow each other are equal, or, without
states, where it repeats an earlier call of the episode word for word. Harmless for polling and for retries after an error.
"""

from __future__ import annotations

from itertools import pairwise

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics._calls import calls

UP = "more tool calls that change nothing"


def measure(sample: PolicySample) -> float:
    states = sample.meta.get("states")
    if isinstance(states, list) and len(states) > 1:
        return sum(bool(a == b) for a, b in pairwise(states)) / (len(states) - 1)
    made = calls(sample.completion)
    return 1 - len(set(made)) / len(made) if made else float("nan")
