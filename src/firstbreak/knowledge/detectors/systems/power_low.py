"""The GPU draws little power for most of the time.

## What it looks for
Readings of a GPU's power that take turns between a low and a high level, and are low in a share of `min_share` or more, in
both halves of the run.

## Why it matters
Training draws most power; generation token by token waits for memory and draws clearly less, and a GPU that waits draws
least. Where power is low nearly always, generation or waiting takes the step, and a faster update would gain nothing.

## When it is a false alarm
A run in which generation takes most of a step on purpose. A GPU that only generates has one level, and is not counted.

## Fix
- Compare the time of the rollout with that of the update; lower {max_new_tokens}, or give the engine more memory.
- If the rollout is short too, look for what the GPU waits for: scoring, tools, data.

## Smallest experiment
Take a reading every second through two steps, beside the times of the phases: the phase of the low power is the one to
shorten.

## References
https://verl.readthedocs.io/en/latest/perf/perf_tuning.html
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.knowledge.detectors.systems._levels import two_levels
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

FAMILIES = only(Policy.TEXT, why="a simulator on the CPU leaves the GPU of a small network idle by nature")


def detect(
    machine: Mapping[str, list[Series]],
    *,
    min_share: float = at(0.72, "share", "Of the readings: generation takes two thirds in many set-ups."),
    max_ratio: float = at(0.65, "ratio", "Low over high power: less apart are no phases."),
    min_points: int = at(40, "points", "Fewer readings show no phases."),
) -> Finding | NotMeasured | None:
    power = next((s for s in machine.get("gpu.power", []) if len(s) >= min_points), None)
    if power is None:
        return NotMeasured(f"no power of a GPU is logged for {min_points} points")
    levels = two_levels(power.values)
    if levels is None or levels.low > max_ratio * levels.high:
        return None
    low = power.values < levels.between
    shares = [float(np.mean(half)) for half in np.array_split(low, 2)]
    if min(shares) < min_share:
        return None
    return Finding(
        message=(
            f"the GPU draws about {number(round(levels.low))} W in {percent(float(np.mean(low)))} of the readings, and "
            f"{number(round(levels.high))} W in the others: the phase of low power, generation or waiting, takes most of a step; "
            "compare the time of the rollout with that of the update"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.LOW,  # which phase it is, is not read off the machine
        **seen_in(power, "power of the GPU", level=levels.between),
        numbers={"low": levels.low, "high": levels.high, "share": float(np.mean(low))},
    )
