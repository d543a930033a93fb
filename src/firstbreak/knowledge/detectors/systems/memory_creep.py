"""Memory keeps growing towards the end of what the machine has.

Looks for: A reading of GPU or host memory that still grows in the second half of the run, and its value when the run is
twice as long. For a GPU, the limit is its size, where it is recorded. While a replay buffer fills up, what a transition
costs: more than `most_kib` in a well-known task without pictures.
Why: Training that has worked for hours ends in an out-of-memory error at a step that seems random. Growth that goes on
after the first steps has a cause: completions that get longer at a fixed micro batch, graphs that are kept, a cache
without a limit, or fragmentation.
False alarm: A replay buffer fills up and then stops. A peak since the start can only rise, and rises ever more slowly.
The engine reserves its share at once.
Fix:
- Compare the memory with the longest completion of each step: if both grow together, limit the tokens of a micro batch.
- Detach what is logged and stored (log-probabilities, losses, hidden states).
- Lower {max_new_tokens} or {minibatch_size}, and save a checkpoint before the limit is reached.
Experiment: Print the allocated and the reserved memory after each phase of three steps: the phase that does not return
the memory that it took is the place.
References: https://docs.pytorch.org/docs/stable/notes/cuda.html
https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
"""

import re
from collections.abc import Mapping

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, graded, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.ceiling import arrival
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.trend import Trend, trend
from firstbreak.knowledge.detectors.systems.memory_tight import device_size
from firstbreak.model import Confidence, Expected, Finding, Happened, NotMeasured, Run, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number, percent, step_word

LIMIT = pattern(r"(?:mem(?:ory)?_?(?:limit|max)?|max_mem(?:ory)?)_?(mb|gb)$", re.IGNORECASE)
KILLED = pattern(r"out of memory|killed|\boom\b", re.IGNORECASE)
AT_LIMIT = 0.95  #: of a limit: what is read is not the moment of the highest use (convention)


def detect(
    memory_gpu: Series | None = None,
    memory_gpu_reserved: Series | None = None,
    memory_cpu: Series | None = None,
    replay_size: Series | None = None,
    machine: Mapping[str, list[Series]] | None = None,
    time: Mapping[str, Series] | None = None,
    policy: Policy = Policy.TEXT,
    run: Run | None = None,
    *,
    min_increase: float = at(0.05, "share", "Less over half of the run is no leak."),
    increase_warning: float = at(0.2, "share", "A fifth more in half of the run soon fills a machine."),
    min_slope_ratio: float = at(0.5, "ratio", "Late over early slope of the second half: less levels off."),
    min_points: int = at(20, "points", "Fewer readings show no growth."),
    most_kib: float = at(8.0, "KiB", "A transition of a task without pictures is a few numbers: a tenth of this."),
    times: float = at(
        2.5, "ratio", "Of the first reading, and still growing: no cache and no pool of workers does that."
    ),
    slower: float = at(2.0, "ratio", "What grows and is gone through at every step makes the steps longer as well."),
) -> Finding | Expected | NotMeasured | None:
    recorded = [
        s.finite
        for s in (memory_gpu, memory_gpu_reserved, memory_cpu, *(machine or {}).get("memory.gpu", []))
        if s is not None and len(s.finite) >= min_points
    ]
    if not recorded:
        return NotMeasured(f"no memory reading of {min_points} points is logged")
    growing = [(s, line) for s in recorded if (line := _still_grows(s, min_increase, min_slope_ratio)) is not None]
    if not growing:
        return None
    if replay_size is not None and trend(replay_size.tail(0.5)).rising:
        if run is not None and (costly := _costly(growing[0][0], replay_size.finite, run, most_kib)):
            return costly
        return Expected("memory grows because the replay buffer is still filling")
    memory, line = growing[0]
    top, span = float(np.max(memory.values)), float(np.ptp(memory.steps))
    limit = device_size(machine) if "gpu" in memory.name else None
    left = arrival(memory.tail(0.5), limit, horizon=2.0) if limit else None
    soon = left is not None and left[0] <= span
    ahead = (
        f", and reaches {number(limit)} GB in {left[0]:.2g} {step_word(memory.axis)}s or more" if soon and left else ""
    )
    steep = line.change >= increase_warning * line.start
    beside = "the longest sequence of each step" if policy is Policy.TEXT else "the size of the buffers at each step"
    ramp = onset(memory, direction=1, kinds=("ramp",))
    began = ramp.step if ramp else float(memory.tail(0.5).steps[0])
    interval = ramp.interval if ramp else (float(memory.steps[0]), began)
    return graded(
        Severity.WARNING if soon or steep else Severity.NOTICE,
        "{memory} grew by {growth} in the second half of the run, to {top} GB at most{ahead}; compare the memory with "
        "{beside}",
        seen_since(memory, f"{number(top)} GB at most", began, interval, level=limit),
        memory=memory.name,
        growth=percent(line.change / line.start),
        top=facts.highest(memory),
        ahead=ahead,
        beside=beside,
        confidence=Confidence.HIGH
        if steep and (_slower(time, slower) or _at_limit(run, top) or top > times * float(memory.values[0]) > 0)
        else Confidence.MEDIUM,
        numbers={"gb": top, "growth": line.change, "steps_left": left[0] if left else None},
    )


def _costly(memory: Series, stored: Series, run: Run, most_kib: float) -> Finding | None:
    """Memory that grows by far more than a transition holds, of a well-known task without pictures."""
    task, grown = environments.of(run.config), float(stored.values[-1] - stored.values[0])
    if (
        task is None
        or task.atari
        or environments.known(run.config) is None
        or grown <= 0
        or memory.name != "memory.cpu"
    ):
        return None
    kib = float(memory.values[-1] - memory.values[0]) * 2**20 / grown
    if kib < most_kib:
        return None
    return warning(
        "{memory} grew from {first} to {last} GB while {stored} transitions were stored: {kib} KiB each, and one of {task} "
        "is a few numbers; store detached numbers and no tensors with their graph",
        seen_since(memory, f"{number(kib)} KiB for each transition", float(memory.steps[0])),
        memory=memory.name,
        first=facts.first(memory),
        last=facts.last(memory),
        stored=number(grown),
        kib=number(kib),
        task=task.name,
    )


def _at_limit(run: Run | None, top: float) -> bool:
    """Whether so many GB are what the configuration allows a process, or the process was killed for them."""
    if run is None:
        return False
    limits = [
        value / (1024 if found[1].lower() == "mb" else 1)
        for key, value in run.config.raw.items()
        if isinstance(value, int | float) and (found := LIMIT.search(key))
    ]
    killed = any(event.kind is Happened.ERROR and KILLED.search(event.text) for event in run.events)
    return killed or any(AT_LIMIT * limit <= top <= limit / AT_LIMIT for limit in limits)


def _slower(time: Mapping[str, Series] | None, slower: float) -> bool:
    """Whether a phase of the step takes this many times as long at the end as at the start."""
    phases = (s.finite for name, s in (time or {}).items() if name not in ("elapsed", "unix"))
    return any(len(s) >= 8 and median(s.tail(0.25).values) >= slower * median(s.head(0.25).values) > 0 for s in phases)


def _still_grows(memory: Series, min_increase: float, min_slope_ratio: float) -> Trend | None:
    """The line through the second half, where it climbs and does not level off."""
    late = memory.tail(0.5)
    line = trend(late)
    if not line.rising or line.start <= 0 or line.change < min_increase * line.start:
        return None
    first, second = (trend(part).slope for part in (late.head(0.5), late.tail(0.5)))
    return line if second >= min_slope_ratio * first else None
