"""The inference engine and the trainer drift apart as training goes on.

## What it looks for
Sustained growth of any recorded distance between the two engines, to at least `several` times its own early level,
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

import numpy as np

from firstbreak.detectors._growth import Growth, appearance, growth
from firstbreak.detectors.freshness._engines import nothing_recorded, readings
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Run, Series, Severity
from firstbreak.words import number

MATTERS = 0.2  #: of what is fine: below this even a large growth is nothing


def detect(
    run: Run,
    family: str | None = None,
    writes_text: bool | None = None,
    rollout_train_kl: Series | None = None,
    rollout_train_logp_absdiff_mean: Series | None = None,
    rollout_train_prob_absdiff_mean: Series | None = None,
    rollout_train_mult_prob_error: Series | None = None,
    rollout_train_js: Series | None = None,
    rollout_train_prob_pearson: Series | None = None,
    first_ratio: Series | None = None,
    *,
    several: float = 3.0,
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
        first_ratio,
    )
    if not recorded:
        return nothing_recorded(run, family, writes_text, "the distance between inference engine and trainer is")
    long_enough = [reading for reading in recorded if len(reading.distance) >= min_points]
    if not long_enough:
        return NotMeasured(f"fewer than {min_points} points of any distance between the engines")
    seen = [(g, reading) for reading in long_enough if (g := _grown(reading.distance, several, min_points)) is not None]
    if not seen:
        return None
    worst, reading = max(seen, key=lambda pair: pair[0].times)
    if (began := worst.since()) is None:
        return None
    since, interval = began
    what = f"grew {number(worst.times)} times" if np.isfinite(worst.times) else "appeared, after it had been 0"
    return Finding(
        message=(
            f"the distance between engine and trainer ({reading.series.name}) {what}; compare a "
            "checksum of the weights on both sides after a synchronisation"
        ),
        severity=Severity.CRITICAL if worst.times >= runaway and worst.late > 1 else Severity.WARNING,
        confidence=Confidence.HIGH if len(seen) > 1 or worst.late > 1 else Confidence.MEDIUM,
        metric=reading.series.name,
        onset=since,
        interval=interval,
        evidence=(Evidence(text=what, series=reading.series, since=since),),
        facts={"growth": worst.times, "level": worst.late},
    )


def _grown(distance: Series, several: float, min_points: int) -> Growth | None:
    found = appearance(distance) or growth(distance, min_points)
    return found if found is not None and found.times >= several and found.late >= MATTERS else None
