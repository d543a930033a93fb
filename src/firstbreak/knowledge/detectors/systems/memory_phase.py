"""The GPU's memory is nearly full in one phase of a step only.

## What it looks for
Readings of the GPU memory in use, more often than once a step, that take turns between two levels: the high one within
`min_share` of the device, the low one at least `min_room` of the device below.

## Why it matters
The phase with the high level decides whether the run survives: one longer completion, and it ends in an out-of-memory error.
The other phase shows that the memory is there: it can be moved, not only bought.

## When it is a false alarm
An engine that reserves its share of the device on purpose and puts it to sleep; a limit that no batch can exceed.

## Fix
- Let the phases lend each other memory: put the engine to sleep, or offload the optimizer, while the other works.
- Lower the micro batch of the phase that is full; raise that of the other.
- Save often enough ({save_interval}) that a crash costs little.

## Smallest experiment
Train one step on the longest completions that {max_new_tokens} allows, with a reading every second: which phase is full?

## References
https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, seen_in
from firstbreak.knowledge.detectors.systems._levels import two_levels
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    machine: Mapping[str, list[Series]],
    *,
    min_share: float = at(0.95, "share", "Of the device: a twentieth is left at most."),
    min_room: float = at(0.1, "share", "Of the device: room worth to be moved."),
    min_points: int = at(40, "points", "Fewer readings show no phases."),
) -> Finding | NotMeasured | None:
    shares = [s for s in machine.get("gpu.memory_share", []) if len(s) >= min_points]
    if not shares:
        return NotMeasured(f"no memory of a GPU of known size is logged for {min_points} points")
    fullest = max(shares, key=lambda s: float(np.quantile(s.values, 0.9)))
    levels = two_levels(fullest.values / 100)
    if levels is None or levels.high < min_share or levels.high - levels.low < min_room:
        return None
    turns = float(np.mean(fullest.values / 100 > levels.between))
    return Finding(
        message=(
            f"{percent(levels.high)} of the GPU's memory is in use in one phase of the steps ({percent(turns)} of the readings), "
            f"and {percent(levels.low)} in the other: the first has no room for longer sequences, the second has; offload or put "
            "to sleep what only the other phase needs"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        **seen_in(fullest, f"{number(round(100 * levels.high))} % in use", level=100 * min_share),
        numbers={"high": levels.high, "low": levels.low},
    )
