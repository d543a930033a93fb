"""Nearly all of the GPU memory is in use.

## What it looks for
A level of the GPU memory in use within `min_share` of a usual size of a device, over the second half of the run. Growth is
another finding.

## Why it matters
Tight memory is normal, and costs nothing while the largest batch fits. One longer completion, one larger evaluation batch
or a saved checkpoint more, and the run ends in an out-of-memory error.

## When it is a false alarm
An inference engine that reserves a fixed part of the device at its start. A device of another size than the next usual one.

## Fix
- Save checkpoints often enough ({save_interval}) that a crash costs little.
- Lower {minibatch_size}, or limit the tokens of a micro batch, before lengths grow.

## Smallest experiment
Train one step on the longest completions that {max_new_tokens} allows: if it fits, the run is safe.

## References
https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

SIZES_GB = (24, 40, 48, 80, 96, 141, 192)  #: of devices on which language models and large policies are trained


def detect(
    memory_gpu: Series,
    *,
    min_share: float = at(0.95, "share", "Of the device: a twentieth is left at most."),
    min_points: int = at(8, "points", "Fewer readings show no level."),
) -> Finding | NotMeasured | None:
    memory = memory_gpu.finite
    if len(memory) < min_points:
        return NotMeasured(f"{len(memory)} memory readings are too few (needs {min_points})")
    used = float(np.median(memory.tail(0.5).values))
    size = next((float(gb) for gb in SIZES_GB if gb >= used), None)
    if size is None or used < min_share * size:
        return None
    return Finding(
        message=(
            f"the GPU memory in use is {number(used)} GB, {percent(used / size)} of a device of {number(size)} GB: normal "
            "while the largest batch fits, but tight; save often, and lower the micro batch before lengths grow"
        ),
        severity=Severity.NOTICE,
        confidence=Confidence.LOW,  # the size of the device is not recorded
        metric=memory.name,
        onset=float(memory.steps[0]),
        interval=(float(memory.steps[0]), float(memory.steps[0])),
        evidence=(Evidence(text=f"{number(used)} GB in use", series=memory_gpu, level=size),),
        numbers={"gb": used, "of": size},
    )
