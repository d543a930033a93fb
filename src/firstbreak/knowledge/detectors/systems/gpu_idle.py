"""The hardware is used little, or less than before.

Looks for: A use of a GPU whose mean is below `low` in both halves of the run (of several GPUs the one that does least);
a power that takes turns between two levels and is low in `min_share` of the readings (both in runs that write text
only); a share of the peak arithmetic (else a use of the GPU) that fell to `max_fall` of its early level for good.
Why: The hardware is paid for and waits: for rollouts, the environment, scoring, data, or another job. A faster update
gains nothing then. All learning curves look normal.
False alarm: A small network whose environment runs on the CPU; a GPU that is reserved for an evaluation or a reward
model; generation that takes most of a step on purpose. Shorter completions or a smaller micro batch use less of the
hardware.
Fix:
- Compare the times of the phases of a step, and overlap generation, scoring and training.
- Use a larger {minibatch_size}, more concurrent requests, and more memory for the engine; lower {max_new_tokens}.
- Where it fell: check what else runs on these devices, their temperature and clock, and how much of a micro batch is padding.
Experiment: Run three steps with a reading every second, beside the times of the phases: the phase in which the GPU
waits is the one to shorten. Where it fell, train a batch saved at the start again: if that is as slow as now, the
machine is the reason.
References: https://docs.wandb.ai/guides/models/app/features/system-metrics
https://verl.readthedocs.io/en/latest/perf/perf_tuning.html https://arxiv.org/abs/2204.02311
https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, most_serious, seen_in, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.points import late_median, median
from firstbreak.knowledge.detectors.systems._levels import two_levels
from firstbreak.model import Confidence, Finding, NotMeasured, Series
from firstbreak.words import number, percent


def detect(
    machine: Mapping[str, list[Series]] | None = None,
    perf: Mapping[str, Series] | None = None,
    perf_mfu: Series | None = None,
    gpu_util: Series | None = None,
    length_mean: Series | None = None,
    policy: Policy = Policy.TEXT,
    *,
    low: float = at(35.0, "percent", "Two thirds of the time are lost, saving and evaluating included."),
    idle: float = at(10.0, "percent", "Nothing but the desktop uses so little."),
    min_share: float = at(0.72, "share", "Of the readings: generation takes two thirds in many set-ups."),
    max_ratio: float = at(0.65, "ratio", "Low over high power: less apart are no phases."),
    max_fall: float = at(0.5, "ratio", "Late over early use: half of the hardware's work is lost."),
    min_points: int = at(20, "points", "Fewer readings may have hit the gaps, and do not show what is usual."),
    min_power: int = at(40, "points", "Fewer readings of the power show no phases."),
) -> Finding | NotMeasured | str | None:
    gauges = [perf_mfu, *((perf or {}).get(f"mfu.{part}") for part in ("actor", "train")), gpu_util]
    fell = _fell([s.finite for s in gauges if s is not None], length_mean, max_fall, min_points)
    if policy is not Policy.TEXT:  # a simulator on the CPU leaves the GPU of a small network idle by nature
        return fell
    read = machine or {}
    waits = _waits(read.get("gpu.util", []), low, idle, min_points)
    return most_serious(waits, _low_power(read.get("gpu.power", []), min_share, max_ratio, min_power), fell)


def _waits(used: Sequence[Series], low: float, idle: float, min_points: int) -> Finding | NotMeasured | None:
    """A GPU that does nothing most of the time."""
    used = [s for s in used if len(s) >= min_points]
    if not used:
        return NotMeasured(f"no use of a GPU is logged for {min_points} points")
    least = min(used, key=lambda s: float(np.mean(s.values)))
    halves = [float(np.mean(half.values)) for half in (least.head(0.5), least.tail(0.5))]
    if max(halves) >= low:
        return None
    waits = float(np.mean(least.values < idle))
    share = f", and below {percent(idle / 100)} in {percent(waits)} of the readings" if waits > 0.1 else ""
    return warning(
        "the GPU utilisation is {mean} % in the mean over the run{share}: the GPU is idle while the rest of a step runs; "
        "compare the times of the phases, and overlap the longest with training",
        seen_in(least, "use of the GPU", level=low),
        mean=facts.mean(least),
        share=share,
        confidence=Confidence.MEDIUM,
        numbers={"mean": float(np.mean(least.values)), "idle": waits},
    )


def _low_power(
    powers: Sequence[Series], min_share: float, max_ratio: float, min_points: int
) -> Finding | NotMeasured | None:
    """A power that is low for most of the time: training draws most, generation less, waiting least."""
    power = next((s for s in powers if len(s) >= min_points), None)
    if power is None:
        return NotMeasured(f"no power of a GPU is logged for {min_points} points")
    levels = two_levels(power.values)
    if levels is None or levels.low > max_ratio * levels.high:
        return None
    low = power.values < levels.between
    shares = [float(np.mean(half)) for half in np.array_split(low, 2)]
    if min(shares) < min_share:
        return None
    return warning(
        f"the GPU draws about {number(round(levels.low))} W in {percent(float(np.mean(low)))} of the readings, and "
        f"{number(round(levels.high))} W in the others: the phase of low power, generation or waiting, takes most of a step; "
        "compare the time of the rollout with that of the update",
        seen_in(power, "power of the GPU", level=levels.between),
        confidence=Confidence.LOW,  # which phase it is, is not read off the machine
        numbers={"low": levels.low, "high": levels.high, "share": float(np.mean(low))},
    )


def _fell(
    gauges: Sequence[Series], length: Series | None, max_ratio: float, min_points: int
) -> Finding | NotMeasured | None:
    """The hardware does far less than before."""
    used = next((s for s in gauges if len(s) >= min_points), None)
    if used is None:
        return NotMeasured(
            f"neither the share of the peak arithmetic nor the use of the GPU is logged for {min_points} steps"
        )
    before, now = median(used.head(0.25).values), late_median(used)
    if before <= 0 or now > max_ratio * before or _shorter(length, max_ratio):
        return None
    began = onset(used, direction=-1, kinds=("level", "ramp"))
    if began is None:
        return None
    return warning(
        "{used} fell from {before} to {now}: the GPU does {share} of what it did per second before: it waits, or is shared; "
        "check what else runs on it, then profile one step",
        seen_since(used, f"{number(now)}, before {number(before)}", began.step, began.interval, level=before),
        used=used.name,
        before=facts.median(used.head(0.25)),
        now=facts.median(used.tail(0.25)),
        share=percent(now / before),
        confidence=Confidence.MEDIUM,
        numbers={"before": before, "now": now},
    )


def _shorter(length: Series | None, max_ratio: float) -> bool:
    """Whether completions shrank as much: short sequences use less of the hardware."""
    if length is None or len(length.finite) < 2:
        return False
    return late_median(length) <= max_ratio * median(length.finite.head(0.25).values)
