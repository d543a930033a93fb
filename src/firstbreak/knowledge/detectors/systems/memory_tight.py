"""Nearly all of the GPU memory is in use.

## What it looks for
A level of the GPU memory in use of at least `min_share` of the device, over the second half of the run. The size of the
device has to be recorded: no usual size is assumed. Growth is another finding.

## Why it matters
Tight memory is normal, and costs nothing while the largest batch fits. One longer completion, one larger evaluation batch
or a saved checkpoint more, and the run ends in an out-of-memory error.

## When it is a false alarm
An inference engine that reserves a fixed part of the device at its start.

## Fix
- Save checkpoints often enough ({save_interval}) that a crash costs little.
- Lower {minibatch_size}, or limit the tokens of a micro batch, before lengths grow.

## Smallest experiment
Train one step on the longest completions that {max_new_tokens} allows: if it fits, the run is safe.

## References
https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, seen_in
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    machine: Mapping[str, list[Series]],
    *,
    min_share: float = at(0.95, "share", "Of the device: a twentieth is left at most."),
    min_points: int = at(8, "points", "Fewer readings show no level."),
) -> Finding | NotMeasured | None:
    memory = next((s for s in machine.get("memory.gpu", []) if len(s) >= min_points), None)
    if memory is None:
        return NotMeasured(f"no memory of a GPU is logged for {min_points} points")
    if (size := device_size(machine)) is None:
        return NotMeasured("the size of the device is not recorded: how near the memory is to its limit cannot be told")
    used = float(np.median(memory.tail(0.5).values))
    if not min_share * size <= used <= size:
        return None
    return Finding(
        message=(
            f"the GPU memory in use is {number(used)} GB, {percent(used / size)} of the device's {number(size)} GB: normal "
            "while the largest batch fits, but tight; save often, and lower the micro batch before lengths grow"
        ),
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        **seen_in(memory, f"{number(used)} GB in use", level=size),
        numbers={"gb": used, "of": size},
    )


def device_size(machine: Mapping[str, list[Series]] | None) -> float | None:
    """The memory of the smallest GPU, in GB; None where it is not recorded."""
    sizes = [float(s.values[-1]) for s in (machine or {}).get("gpu.memory_size", ()) if len(s) and s.values[-1] > 0]
    return min(sizes, default=None)
