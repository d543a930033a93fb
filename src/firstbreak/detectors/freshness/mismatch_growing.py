"""The inference engine and the trainer drift apart as training goes on.

## What it looks for
Sustained growth of any recorded distance between the two engines, by at least `growth` times its own early level,
from the noise floor into a range that matters.

## Why it matters
Numerics give a constant distance. A distance that grows says that the engine does not receive the weights (a
synchronisation that misses a step, an adapter that is never delivered, a cache that survives the update), or that the
policy moves into tokens where the engines differ most. It grows long before the reward falls.

## When it is a false alarm
The level stays far below what is known to train well: growth from nothing to almost nothing is not reported. Longer
completions and a policy that spreads its probability raise the distance a little.

## Fix
- Compare a checksum of the weights on both sides after a synchronisation, adapters included.
- Reset the prefix cache at every weight update.
- Lower {max_staleness}, to see whether the growth is age.

## Smallest experiment
Continue from the last checkpoint with {learning_rate} 0 for 20 steps. If the distance still grows, the fault is in
the rollout stack; if it stays, it is in the update.

## References
https://github.com/huggingface/trl/issues/5312
https://github.com/PrimeIntellect-ai/prime-rl/issues/1650
https://github.com/allenai/open-instruct/issues/1473
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.detectors.freshness._engines import Reading, nothing_recorded, readings
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Run, Series, Severity
from firstbreak.stats.onset import onset
from firstbreak.words import number

MATTERS = 0.2  #: of what is fine: below this even a large growth is nothing


def detect(
    run: Run,
    family: str | None = None,
    rollout_train_kl: Series | None = None,
    rollout_train_logp_absdiff_mean: Series | None = None,
    rollout_train_prob_absdiff_mean: Series | None = None,
    rollout_train_mult_prob_error: Series | None = None,
    rollout_train_js: Series | None = None,
    rollout_train_prob_pearson: Series | None = None,
    *,
    growth: float = 3.0,
    runaway: float = 10.0,
    min_points: int = 16,
) -> Finding | NotApplicable | NotMeasured | None:
    recorded = readings(
        rollout_train_kl,
        rollout_train_logp_absdiff_mean,
        rollout_train_prob_absdiff_mean,
        rollout_train_mult_prob_error,
        rollout_train_js,
        rollout_train_prob_pearson,
    )
    if not recorded:
        return nothing_recorded(run, family, "the distance between inference engine and trainer is")
    long_enough = [reading for reading in recorded if len(reading.distance) >= min_points]
    if not long_enough:
        return NotMeasured(f"fewer than {min_points} points of any distance between the engines")
    worst = max((r for r in long_enough), key=lambda r: _growth(r) if _late(r) >= MATTERS else 0.0)
    times = _growth(worst)
    if times < growth or _late(worst) < MATTERS:
        return None
    began = onset(_log(worst.distance), direction=1, kinds=("level", "ramp"))
    if began is None:
        return None
    return Finding(
        message=(
            f"the distance between engine and trainer ({worst.series.name}) grew {number(times)} times; compare a checksum "
            "of the weights on both sides after a synchronisation"
        ),
        severity=Severity.CRITICAL if times >= runaway and _late(worst) > 1 else Severity.WARNING,
        confidence=Confidence.HIGH if began.p < 0.01 else Confidence.MEDIUM,
        metric=worst.series.name,
        onset=began.step,
        interval=began.interval,
        evidence=(Evidence(text=f"grew {number(times)} times", series=worst.series, since=began.step),),
        facts={"growth": times, "level": _late(worst)},
    )


def _late(reading: Reading) -> float:
    return float(np.median(reading.distance.tail(0.25).values))


def _growth(reading: Reading) -> float:
    early = float(np.median(reading.distance.head(0.25).values))
    return _late(reading) / early if early > 0 else 1.0


def _log(distance: Series) -> Series:
    """The logarithm, in which growth by a factor is a step; distances of exactly 0 count as the smallest one above it."""
    smallest = float(np.min(distance.values[distance.values > 0], initial=1.0))
    return replace(distance, values=np.log(np.maximum(distance.values, smallest)))
