"""Inference engine and trainer disagree about the probability of a token.

## What it looks for
The distance between the engine that generates and the trainer that updates, on the same tokens: divergence,
difference of probabilities or log-probabilities, their correlation. The median over the second half of the run,
against the levels at which the trainers' authors know runs to train well.

## Why it matters
The update believes that the data came from the trainer's policy. Where the engine samples from another distribution,
every ratio is off, most of all for rare tokens, and the gradient is biased. Runs hold out for long and then collapse
suddenly.

## When it is a false alarm
One of the two logs probabilities after temperature or top-p and the other before: the correlation is then poor and
the divergence is fine. In asynchronous training the numbers contain staleness as well. A steady level that an
importance weight ({is_correction}) corrects while the score rises is a price, not a break.

## Fix
- Look first for different inputs: the same token ids, template, position ids and adapters on both sides.
- Use the same {precision} in both engines; a mixture of experts also needs the same routing.
- Use the same {temperature} and {top_p} when log-probabilities are computed.
- Turn on {is_correction} with a cap ({is_cap}).

## Smallest experiment
Score one batch of generated tokens with the trainer before any update: at equal weights every difference is numerics.
Then repeat with the engine in eager mode and full precision.

## References
https://verl.readthedocs.io/en/latest/faq/faq.html
https://github.com/verl-project/verl/blob/main/docs/algo/rollout_corr.md
https://arxiv.org/abs/2510.26788
https://arxiv.org/abs/2510.11370
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors.freshness._engines import Reading, nothing_recorded, readings
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Run, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    run: Run,
    family: str | None = None,
    writes_text: bool | None = None,
    trajectory: Trajectory | None = None,
    rollout_train_kl: Series | None = None,
    rollout_train_logp_absdiff_mean: Series | None = None,
    rollout_train_prob_absdiff_mean: Series | None = None,
    rollout_train_mult_prob_error: Series | None = None,
    rollout_train_js: Series | None = None,
    rollout_train_prob_pearson: Series | None = None,
    first_ratio: Series | None = None,
    *,
    min_points: int = 3,
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
    worst = max(long_enough, key=_level)
    if _level(worst) <= 1:
        return None
    alone = worst.series is rollout_train_prob_pearson and any(_level(reading) <= 1 for reading in long_enough)
    doubt = (
        "; the other distances are fine, so look first whether one side logs it before the temperature" if alone else ""
    )
    learning = trajectory is not None and trajectory.learned and not trajectory.lost
    onset = first_sustained(worst.distance, lambda values: values > 1)
    return Finding(
        message=(
            f"{worst.series.name} is {number(_value(worst))}, {number(_level(worst))} times as far from "
            f"{number(worst.gauge.perfect)} as is known to train well{doubt}; score one generated batch with the "
            "trainer before any update and compare token by token"
        ),
        severity=Severity.NOTICE if alone else _severity(worst, learning),
        confidence=Confidence.LOW if alone else Confidence.HIGH if len(long_enough) > 1 else Confidence.MEDIUM,
        metric=worst.series.name,
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=tuple(
            Evidence(text=f"{r.series.name}, {number(_level(r))} times what is fine", series=r.series)
            for r in long_enough
        ),
        facts={"level": _level(worst), "alone": alone},
    )


def _level(reading: Reading) -> float:
    return float(np.median(reading.distance.tail(0.5).values))


def _value(reading: Reading) -> float:
    return float(np.median(reading.series.finite.tail(0.5).values))


def _severity(worst: Reading, learning: bool) -> Severity:
    """A distance under which the score rises is a price; without that it is a break."""
    if _level(worst) >= worst.gauge.bad / worst.gauge.fine:
        return Severity.WARNING if learning else Severity.CRITICAL
    return Severity.NOTICE if learning else Severity.WARNING
