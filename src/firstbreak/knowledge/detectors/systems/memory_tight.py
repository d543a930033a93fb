"""The GPU memory is nearly full: always, in one phase, or in peaks.

Looks for: A memory in use of at least `min_share` of the device over the second half of the run, where the size of the
device is recorded; readings that take turns between such a level and one at least `min_room` lower; or `min_peaks`
stretches that lie `min_rise` above the steps around them, and are slower than those or come at a regular interval.
Or `min_peaks` allocations that were tried again. Growth is another finding.
Why: Tight memory costs nothing while the largest batch fits. One longer completion, one larger evaluation batch or a
saved checkpoint more, and the run ends in an out-of-memory error. A phase with room shows that the memory is there: it
can be moved, not only bought. Peaks are a job beside the training, which takes memory and time.
False alarm: An inference engine that reserves a fixed part of the device, or is put to sleep. Evaluation and saving
({eval_interval}, {save_interval}) that are planned. Batches with the longest completions take more memory and more
time.
Fix:
- Save checkpoints often enough ({save_interval}) that a crash costs little.
- Lower {minibatch_size}, or limit the tokens of a micro batch, before lengths grow.
- One phase only: put the engine to sleep, or offload the optimizer, while the other works.
- Peaks: find the job at these steps (saving, merging, uploading, evaluation), and move it to another machine or device.
Experiment: Train one step on the longest completions that {max_new_tokens} allows, with a reading every second: if it
fits, the run is safe; if not, which phase is full? Of peaks, run three intervals with saving, uploading and evaluation
off.
References: https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, most_serious, notice, seen_in, seen_since, warning
from firstbreak.engine.stats.spikes import period
from firstbreak.knowledge.detectors.systems._levels import two_levels
from firstbreak.knowledge.detectors.systems._shares import step_time, times_as_large
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    machine: Mapping[str, list[Series]] | None = None,
    memory_alloc_retries: Series | None = None,
    time: Mapping[str, Series] | None = None,
    *,
    min_share: float = at(0.95, "share", "Of the device: a twentieth is left at most."),
    min_room: float = at(0.1, "share", "Of the device: room worth to be moved."),
    min_rise: float = at(0.05, "share", "Of the memory that is usual: less is a longer batch."),
    min_size: float = at(6.0, "standard deviations", "Of the memory at the usual steps: a peak stands out."),
    max_share: float = at(0.4, "share", "Peaks are the exception among the steps."),
    min_slower: float = at(1.1, "ratio", "What takes memory beside the training takes time."),
    per_step: float = at(2.0, "steps", "What comes back in every step is one of its phases."),
    min_peaks: int = at(3, "peaks", "Fewer can be chance."),
    min_points: int = at(8, "points", "Fewer readings show no level."),
    min_usual: int = at(20, "points", "Fewer readings do not show what is usual, of which peaks stand out."),
    min_turns: int = at(40, "points", "Fewer readings show no phases."),
) -> Finding | NotMeasured | str | None:
    memory = (machine := machine or {}).get("memory.gpu", [])
    return most_serious(
        NotMeasured("allocations that were tried again are not counted")
        if memory_alloc_retries is None
        else _retried(memory_alloc_retries.finite, min_peaks),
        _full(memory, device_size(machine), min_share, min_points),
        _phase(machine.get("gpu.memory_share", []), min_share, min_room, min_turns),
        _peaks(memory, time, min_rise, min_size, max_share, min_slower, per_step, min_peaks, min_usual),
    )


def _retried(retries: Series, least: int) -> Finding | None:
    """Allocations that did not fit at first: the memory is full, whatever its size."""
    if not len(retries) or retries.values[-1] - retries.values[0] < least:
        return None
    return warning(
        "the allocator had to free its cache and try again {n} times so far: the GPU's memory is full at these steps; lower "
        "the micro batch before lengths grow",
        seen_in(retries, "allocations that were tried again"),
        n=facts.last(retries),
        confidence=Confidence.MEDIUM,
    )


def device_size(machine: Mapping[str, list[Series]] | None) -> float | None:
    """The memory of the smallest GPU, in GB; None where it is not recorded."""
    sizes = [float(s.values[-1]) for s in (machine or {}).get("gpu.memory_size", ()) if len(s) and s.values[-1] > 0]
    return min(sizes, default=None)


def _long(readings: Sequence[Series], min_points: int) -> Series | None:
    """The first curve of so many points: the trainer's own, where it logs one."""
    return next((s for s in readings if len(s) >= min_points), None)


def _full(
    readings: Sequence[Series], size: float | None, min_share: float, min_points: int
) -> Finding | NotMeasured | None:
    """Nearly all of the memory, for half of the run. No usual size is assumed."""
    memory = _long(readings, min_points)
    if memory is None:
        return NotMeasured(f"no memory of a GPU is logged for {min_points} points")
    if size is None:
        return NotMeasured("the size of the device is not recorded: how near the memory is to its limit cannot be told")
    used = float(np.median(memory.tail(0.5).values))
    if not min_share * size <= used <= size:
        return None
    return notice(
        f"the GPU memory in use is {number(used)} GB, {percent(used / size)} of the device's {number(size)} GB: normal "
        "while the largest batch fits, but tight; save often, and lower the micro batch before lengths grow",
        seen_in(memory, f"{number(used)} GB in use", level=size),
        confidence=Confidence.MEDIUM,
        numbers={"gb": used, "of": size},
    )


def _phase(
    shares: Sequence[Series], min_share: float, min_room: float, min_points: int
) -> Finding | NotMeasured | None:
    """One phase of a step that is nearly full, and one with room."""
    shares = [s for s in shares if len(s) >= min_points]
    if not shares:
        return NotMeasured(f"no memory of a GPU of known size is logged for {min_points} points")
    fullest = max(shares, key=lambda s: float(np.quantile(s.values, 0.9)))
    levels = two_levels(fullest.values / 100)
    if levels is None or levels.high < min_share or levels.high - levels.low < min_room:
        return None
    turns = float(np.mean(fullest.values / 100 > levels.between))
    return warning(
        f"{percent(levels.high)} of the GPU's memory is in use in one phase of the steps ({percent(turns)} of the readings), "
        f"and {percent(levels.low)} in the other: the first has no room for longer sequences, the second has; offload or put "
        "to sleep what only the other phase needs",
        seen_in(fullest, f"{number(round(100 * levels.high))} % in use", level=100 * min_share),
        confidence=Confidence.MEDIUM,
        numbers={"high": levels.high, "low": levels.low},
    )


def _peaks(
    readings: Sequence[Series],
    time: Mapping[str, Series] | None,
    min_rise: float,
    min_size: float,
    max_share: float,
    min_slower: float,
    per_step: float,
    min_peaks: int,
    min_points: int,
) -> Finding | NotMeasured | None:
    """Memory that rises and comes back at steps that are slow, or at a regular interval: a job beside the training."""
    memory = _long(readings, min_points)
    if memory is None:
        return NotMeasured(f"no memory of a GPU is logged for {min_points} points")
    usual = float(np.median(memory.values))
    calm = memory.values <= (1 + min_rise) * usual
    spread = float(np.std(memory.values[calm]))
    high = memory.values > usual + max(min_rise * usual, min_size * spread)
    starts = memory.steps[high & ~np.concatenate([[False], high[:-1]])]
    if len(starts) < min_peaks or float(np.mean(high)) > max_share:
        return None
    clock = step_time(time)
    slower = 0.0 if clock is None else times_as_large(clock, memory.steps[high])
    every = period(starts)
    if (slower < min_slower and not every) or (every is not None and every < per_step):
        return None  # the phases of a step take turns
    job = _job(time or {}, memory.steps[high])
    rise = float(np.median(memory.values[high])) - usual
    rhythm = f", every {number(every)} steps" if every else ""
    beside = f", and these steps take {number(slower)} times as long" if slower >= min_slower else ""
    return graded(
        Severity.WARNING if job and slower >= min_slower else Severity.NOTICE,
        f"the GPU memory rises by {number(rise)} GB {len(starts)} times and comes back{rhythm}{beside}: "
        + (
            f"{job} at these steps takes memory and time from the training; do it from another process or device, or free "
            "what it copies"
            if job
            else "a background job (checkpoint, merge, upload, evaluation) competes with the training; find what runs at "
            "these steps"
        ),
        seen_since(memory, f"{len(starts)} peaks", float(starts[0]), level=usual),
        confidence=Confidence.MEDIUM,
        numbers={"gb": rise, "every": every, "slower": slower},
    )


def _job(time: Mapping[str, Series], at: np.ndarray) -> str:
    """What is logged at most of these steps and at few others; empty where nothing is."""
    for phase, said in (
        ("save", "saving a checkpoint"),
        ("upload", "an upload"),
        ("merge", "a merge"),
        ("eval", "evaluating"),
    ):
        logged = time.get(phase)
        steps = logged.steps[logged.values > 0] if logged is not None else np.empty(0)
        if len(steps) and np.mean(np.isin(np.floor(at), steps)) > 0.7 and np.mean(np.isin(steps, np.floor(at))) > 0.7:
            return said
    return ""
