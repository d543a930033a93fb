"""Share of an episode's tool calls that change nothing.

A call is idle if two successive entries of the recorded `states` of the environment are equal. Without states, a call is
idle if it repeats an earlier call of the episode word for word. Harmless for polling and for retries after an error.
"""

from itertools import pairwise

from firstbreak.audit.split_truth import PolicySample

UP = "more tool calls that change nothing"


def measure(sample: PolicySample) -> float:
    states = sample.meta.get("states")
    if isinstance(states, list) and len(states) > 1:
        return sum(bool(a == b) for a, b in pairwise(states)) / (len(states) - 1)
    made = [(turn.tool, turn.arguments) for turn in sample.turns if turn.tool or turn.arguments]
    return 1 - len(set(made)) / len(made) if made else float("nan")
