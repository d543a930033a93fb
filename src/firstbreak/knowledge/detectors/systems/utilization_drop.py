"""The hardware is used far less than before.

## What it looks for
The share of the hardware's peak arithmetic that training reaches (else the logged use of the GPU): its late level compared
with its level before, where the fall is lasting.

## Why it matters
The same work takes longer on the same hardware: data come late, batches get smaller or more padded, another job shares the
device, or a device is throttled. Time and money are lost while all learning curves look normal.

## When it is a false alarm
Shorter completions, or a smaller micro batch on purpose: small batches use less of the hardware. The first steps compile.

## Fix
- Check what else runs on these devices, and their temperature and clock.
- Compare padded with real tokens of a micro batch; pack short sequences together ({minibatch_size}).
- Profile one step, and look for waiting between kernels.

## Smallest experiment
Train one saved batch from the start of the run again: if it is as slow as now, the machine is the reason; if it is fast, the
data are.

## References
https://arxiv.org/abs/2204.02311
https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.points import late_median, median
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    perf: Mapping[str, Series] | None = None,
    perf_mfu: Series | None = None,
    gpu_util: Series | None = None,
    length_mean: Series | None = None,
    *,
    max_ratio: float = at(0.5, "ratio", "Half of the hardware's work is lost."),
    min_points: int = at(20, "points", "Fewer steps do not show what is usual."),
) -> Finding | NotMeasured | None:
    parts = perf or {}
    gauges = (perf_mfu, *(parts.get(f"mfu.{part}") for part in ("actor", "train")), gpu_util)
    logged = [s.finite for s in gauges if s is not None and len(s.finite) >= min_points]
    if not logged:
        return NotMeasured(
            f"neither the share of the peak arithmetic nor the use of the GPU is logged for {min_points} steps"
        )
    used = logged[0]
    before, now = median(used.head(0.25).values), late_median(used)
    if before <= 0 or now > max_ratio * before or _shorter(length_mean, max_ratio):
        return None
    began = onset(used, direction=-1, kinds=("level", "ramp"))
    if began is None:
        return None
    return Finding(
        message=facts.tell(
            "{used} fell from {before} to {now}: the GPU does {share} of what it did per second before: it waits, or is shared; "
            "check what else runs on it, then profile one step",
            used=used.name,
            before=facts.median(used.head(0.25)),
            now=facts.median(used.tail(0.25)),
            share=percent(now / before),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        **seen_since(used, f"{number(now)}, before {number(before)}", began.step, began.interval, level=before),
        numbers={"before": before, "now": now},
    )


def _shorter(length: Series | None, max_ratio: float) -> bool:
    """Whether completions shrank as much: short sequences use less of the hardware."""
    if length is None or len(length.finite) < 2:
        return False
    return late_median(length) <= max_ratio * median(length.finite.head(0.25).values)
