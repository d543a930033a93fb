"""Inference engine and trainer disagree about the probability of a token.

## What it looks for
The distance between the engine that generates and the trainer that updates, on the same tokens: their KL divergence,
the difference of their probabilities or log-probabilities, their correlation. The median over the second half of the run
is compared with the levels at which runs are known to train well.

## Why it matters
The update assumes that the data came from the trainer's policy. If the engine samples from another distribution, every
ratio is wrong, most of all for rare tokens, and the gradient is biased. Such runs look healthy for a long time, and then
collapse suddenly.

## When it is a false alarm
One of the two logs probabilities after temperature or top-p, and the other before: the correlation is then poor, and the
divergence is fine. In asynchronous training the numbers contain staleness as well. A steady level that an importance
weight ({is_correction}) corrects while the score rises is a cost, and not a break.

## Fix
- Check first for different inputs: both sides need the same token ids, template, position ids and adapters.
- Use the same {precision} in both engines. A mixture of experts also needs the same routing.
- Use the same {temperature} and {top_p} when log-probabilities are computed.
- Turn on {is_correction} with a cap ({is_cap}).

## Smallest experiment
Score one batch of generated tokens with the trainer before any update: the weights are equal, so every difference is
numerical. Then repeat this with the engine in eager mode and in full precision.

## References
https://verl.readthedocs.io/en/latest/faq/faq.html
https://github.com/verl-project/verl/blob/main/docs/algo/rollout_corr.md
https://arxiv.org/abs/2510.26788
https://arxiv.org/abs/2510.11370
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at
from firstbreak.engine.families import Family, Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors.freshness._engines import (
    CLIP_CRITICAL,
    CLIP_WARNING,
    CORRELATION_CRITICAL,
    CORRELATION_WARNING,
    JENSEN_SHANNON_CRITICAL,
    JENSEN_SHANNON_WARNING,
    KL_CRITICAL,
    KL_WARNING,
    LOGP_CRITICAL,
    LOGP_WARNING,
    PROBABILITY_CRITICAL,
    PROBABILITY_ERROR_CRITICAL,
    PROBABILITY_ERROR_WARNING,
    PROBABILITY_WARNING,
    RATIO_CRITICAL,
    RATIO_WARNING,
    Gauge,
    Reading,
    nothing_recorded,
    of_first_ratio,
    readings,
    sampler,
)
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number

EITHER_SCORE = True


def detect(
    family: Family,
    trajectory: Trajectory | None = None,
    rollout_train_kl: Series | None = None,
    rollout_train_logp_absdiff_mean: Series | None = None,
    rollout_train_prob_absdiff_mean: Series | None = None,
    rollout_train_mult_prob_error: Series | None = None,
    rollout_train_js: Series | None = None,
    rollout_train_prob_pearson: Series | None = None,
    first_ratio: Series | None = None,
    *,
    kl_warning: float = KL_WARNING,
    kl_critical: float = KL_CRITICAL,
    logp_warning: float = LOGP_WARNING,
    logp_critical: float = LOGP_CRITICAL,
    probability_warning: float = PROBABILITY_WARNING,
    probability_critical: float = PROBABILITY_CRITICAL,
    probability_error_warning: float = PROBABILITY_ERROR_WARNING,
    probability_error_critical: float = PROBABILITY_ERROR_CRITICAL,
    jensen_shannon_warning: float = JENSEN_SHANNON_WARNING,
    jensen_shannon_critical: float = JENSEN_SHANNON_CRITICAL,
    correlation_warning: float = CORRELATION_WARNING,
    correlation_critical: float = CORRELATION_CRITICAL,
    first_ratio_warning: float = RATIO_WARNING,
    first_ratio_critical: float = RATIO_CRITICAL,
    first_clip_warning: float = CLIP_WARNING,
    first_clip_critical: float = CLIP_CRITICAL,
    min_points: int = at(3, "points", "Fewer points show no level."),
) -> Finding | NotApplicable | NotMeasured | None:
    recorded = readings(
        (rollout_train_kl, Gauge(0.0, kl_warning, kl_critical)),
        (rollout_train_logp_absdiff_mean, Gauge(0.0, logp_warning, logp_critical)),
        (rollout_train_prob_absdiff_mean, Gauge(0.0, probability_warning, probability_critical)),
        (rollout_train_mult_prob_error, Gauge(1.0, probability_error_warning, probability_error_critical)),
        (rollout_train_js, Gauge(0.0, jensen_shannon_warning, jensen_shannon_critical)),
        (rollout_train_prob_pearson, Gauge(1.0, correlation_warning, correlation_critical)),
        (
            first_ratio,
            of_first_ratio(
                first_ratio,
                Gauge(0.0, first_ratio_warning, first_ratio_critical),
                Gauge(0.0, first_clip_warning, first_clip_critical),
            ),
        ),
    )
    if not recorded:
        return nothing_recorded(family, f"the distance between {sampler(family.policy)} and trainer is")
    long_enough = [reading for reading in recorded if len(reading.distance) >= min_points]
    if not long_enough:
        return NotMeasured(f"no distance between {sampler(family.policy)} and trainer has {min_points} points")
    worst = max(long_enough, key=_level)
    if _level(worst) <= 1:
        return None
    alone = worst.series is rollout_train_prob_pearson and any(_level(reading) <= 1 for reading in long_enough)
    doubt = (
        "; the other distances are fine, so check first whether one side logs its probabilities before the temperature"
        if alone
        else ""
    )
    learning = trajectory is not None and trajectory.learned and not trajectory.lost
    onset = first_sustained(worst.distance, lambda values: values > 1)
    one_by_one = "token by token" if family.policy is Policy.TEXT else "action by action"
    return Finding(
        message=facts.tell(
            "{curve} is {value} in the second half, {times} times as far from {perfect} as in runs that are known to train "
            "well{doubt}; score one generated batch with the trainer before any update, and compare {one_by_one}",
            curve=worst.series.name,
            value=facts.median(worst.series.finite.tail(0.5)),
            times=number(_level(worst)),
            perfect=number(worst.gauge.perfect),
            doubt=doubt,
            one_by_one=one_by_one,
        ),
        severity=Severity.NOTICE if alone else _severity(worst, learning),
        confidence=Confidence.LOW if alone else Confidence.HIGH if len(long_enough) > 1 else Confidence.MEDIUM,
        metric=worst.series.name,
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=tuple(
            Evidence(text=f"{r.series.name}, {number(_level(r))} times the distance that is fine", series=r.series)
            for r in long_enough
        ),
        numbers={"level": _level(worst), "alone": alone},
    )


def _level(reading: Reading) -> float:
    return float(np.median(reading.distance.tail(0.5).values))


def _severity(worst: Reading, learning: bool) -> Severity:
    """A distance with which the score rises is a cost; without a rise it is a break."""
    if _level(worst) >= worst.gauge.critical / worst.gauge.warning:
        return Severity.WARNING if learning else Severity.CRITICAL
    return Severity.NOTICE if learning else Severity.WARNING
