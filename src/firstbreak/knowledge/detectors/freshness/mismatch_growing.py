"""The inference engine and the trainer drift apart as training goes on.

## What it looks for
Growth of any recorded distance between the two engines, to at least `growth_warning` times its own early level, or from
exactly 0, up to a level that matters.

## Why it matters
Numerical differences give a constant distance. A distance that grows says that the engine does not receive the weights
(a synchronisation that misses a step, an adapter that is never delivered, a cache that survives the update), or that
the policy moves towards tokens on which the engines differ most. The distance grows long before the reward falls.

## When it is a false alarm
The level stays far below what is known to train well: growth from nothing to almost nothing is not reported. Longer
completions, and a policy that spreads its probability, raise the distance a little.

## Fix
- Compare a checksum of the weights on both sides after a synchronisation, adapters included.
- Reset the prefix cache at every weight update.
- Lower {max_staleness}, to see whether the growth comes from the age of the data.

## Smallest experiment
Continue from the last checkpoint with {learning_rate} 0 for 20 steps. If the distance still grows, the fault is in the
rollout. If the distance stays, the fault is in the update.

## References
https://github.com/huggingface/trl/issues/5312
https://github.com/PrimeIntellect-ai/prime-rl/issues/1650
https://github.com/allenai/open-instruct/issues/1473
"""

import numpy as np

from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Family
from firstbreak.knowledge.detectors._growth import Growth, appearance, growth
from firstbreak.knowledge.detectors.freshness._engines import (
    CLIP_WARNING,
    CORRELATION_WARNING,
    JENSEN_SHANNON_WARNING,
    KL_WARNING,
    LOGP_WARNING,
    PROBABILITY_ERROR_WARNING,
    PROBABILITY_WARNING,
    RATIO_WARNING,
    Gauge,
    nothing_recorded,
    of_first_ratio,
    readings,
    sampler,
)
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)


def detect(
    family: Family,
    rollout_train_kl: Series | None = None,
    rollout_train_logp_absdiff_mean: Series | None = None,
    rollout_train_prob_absdiff_mean: Series | None = None,
    rollout_train_mult_prob_error: Series | None = None,
    rollout_train_js: Series | None = None,
    rollout_train_prob_pearson: Series | None = None,
    first_ratio: Series | None = None,
    *,
    kl_warning: float = KL_WARNING,
    logp_warning: float = LOGP_WARNING,
    probability_warning: float = PROBABILITY_WARNING,
    probability_error_warning: float = PROBABILITY_ERROR_WARNING,
    jensen_shannon_warning: float = JENSEN_SHANNON_WARNING,
    correlation_warning: float = CORRELATION_WARNING,
    first_ratio_warning: float = RATIO_WARNING,
    first_clip_warning: float = CLIP_WARNING,
    min_level: float = at(
        0.2, "share", "Of the distance that is fine: below a fifth of it even a large growth does not matter."
    ),
    growth_warning: float = at(3.0, "ratio", "Numerical differences give a constant distance."),
    growth_critical: float = at(10.0, "ratio", "Ten times as far apart as at the start."),
    zero_points: int = at(5, "points", "A distance that is exactly 0 for so long appears when it leaves 0."),
    min_points: int = at(16, "points", "Fewer points show no growth."),
) -> Finding | NotApplicable | NotMeasured | None:
    recorded = readings(
        (rollout_train_kl, Gauge(0.0, kl_warning)),
        (rollout_train_logp_absdiff_mean, Gauge(0.0, logp_warning)),
        (rollout_train_prob_absdiff_mean, Gauge(0.0, probability_warning)),
        (rollout_train_mult_prob_error, Gauge(1.0, probability_error_warning)),
        (rollout_train_js, Gauge(0.0, jensen_shannon_warning)),
        (rollout_train_prob_pearson, Gauge(1.0, correlation_warning)),
        (first_ratio, of_first_ratio(first_ratio, Gauge(0.0, first_ratio_warning), Gauge(0.0, first_clip_warning))),
    )
    if not recorded:
        return nothing_recorded(family, f"the distance between {sampler(family.policy)} and trainer is")
    long_enough = [reading for reading in recorded if len(reading.distance) >= min_points]
    if not long_enough:
        return NotMeasured(f"no distance between {sampler(family.policy)} and trainer has {min_points} points")
    seen = [
        (g, reading)
        for reading in long_enough
        if (g := _grown(reading.distance, growth_warning, min_level, zero_points, min_points)) is not None
    ]
    if not seen:
        return None
    worst, reading = max(seen, key=lambda pair: pair[0].times)
    if (began := worst.since()) is None:
        return None
    since, interval = began
    what = f"grew {number(worst.times)} times" if np.isfinite(worst.times) else "appeared, after it had been 0"
    return Finding(
        message=(
            f"the distance between {sampler(family.policy)} and trainer ({reading.series.name}) {what}; compare a "
            "checksum of the weights on both sides after a synchronisation"
        ),
        severity=Severity.CRITICAL if worst.times >= growth_critical and worst.late > 1 else Severity.WARNING,
        confidence=Confidence.HIGH if len(seen) > 1 or worst.late > 1 else Confidence.MEDIUM,
        **seen_since(reading.series, what, since, interval),
        numbers={"growth": worst.times, "level": worst.late},
    )


NOTHING = 1e-4  #: of the late distance: what two passes over the same weights differ by


def _grown(
    distance: Series, growth_warning: float, min_level: float, zero_points: int, min_points: int
) -> Growth | None:
    found = appearance(distance, zero_points) or _from_nothing(distance) or growth(distance, min_points)
    return found if found is not None and found.times >= growth_warning and found.late >= min_level else None


def _from_nothing(distance: Series) -> Growth | None:
    """A distance that is rounding at the first step, where both sides have the same weights, and grows from there on."""
    first, late = float(distance.values[0]), float(np.median(distance.tail(0.25).values))
    middle = float(np.median(distance.head(0.25).values))
    if not 0 <= first < NOTHING * late or late < 2 * middle:
        return None
    return Growth(distance, early=max(first, NOTHING * late), late=late, appears=float(distance.steps[1]))
