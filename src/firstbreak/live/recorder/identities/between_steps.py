"""Between two steps of the optimizer nothing changes the weights."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading


def measure(changes: float, returns: float, places: Mapping[str, str]) -> Mapping[str, Reading]:
    """changed_between: times so far that the weights were not as a step had left them, but for the first, which may be on
    purpose; returned: times that they were those of an earlier step instead. `places`: where each was seen last."""
    counts = {"changed_between": ("changes", max(changes - 1, 0.0)), "returned": ("returns", returns)}
    return {name: (n, places[key]) if n and key in places else n for name, (key, n) in counts.items()}
