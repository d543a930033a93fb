"""The data come from a policy that the correction can no longer bridge.

## What it looks for
The mean weight of the proximal over the behaviour policy, over the second half of the run, against 1; and the share
of tokens whose weight lies outside the cap ({behave_weight_cap}).

## Why it matters
Decoupled training multiplies each token by this weight to make up for old data. Its expectation is 1. Away from 1, or
with many tokens cut by the cap, the correction throws away or distorts a part of the batch, and what is left is not
what the policy does.

## When it is a false alarm
Most trainers average over the tokens that were kept, after the clamp: a mean near 1 proves little, and the share
outside the cap is the honest number. A tight cap on purpose cuts more.

## Fix
- Lower {max_staleness}: fresher data need less correction.
- Set {behave_weight_cap} (5 is usual), so that single tokens cannot own the gradient.
- Let the trainer compute the proximal log-probabilities again ({recompute_logprob}).

## Smallest experiment
Twenty steps with {max_staleness} 0: if the weight returns to 1, it was age; if it does not, engine and trainer
disagree at equal weights.

## References
https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/2110.00641
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors.freshness._engines import nothing_recorded
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Run, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number, percent


def detect(
    run: Run,
    family: str | None = None,
    writes_text: bool | None = None,
    behave_ratio_mean: Series | None = None,
    behave_ratio_cap_frac: Series | None = None,
    staleness_mean: Series | None = None,
    *,
    close: float = 0.03,
    drastic: float = 0.5,
    cut: float = 0.1,
    most: float = 0.5,
    min_points: int = 4,
) -> Finding | NotApplicable | NotMeasured | None:
    ratio = behave_ratio_mean.finite if behave_ratio_mean is not None else None
    capped = behave_ratio_cap_frac.finite if behave_ratio_cap_frac is not None else None
    if not ratio and not capped:
        return nothing_recorded(run, family, writes_text, "the weight of the proximal over the behaviour policy is")
    if max(len(ratio or ()), len(capped or ())) < min_points:
        return NotMeasured(f"fewer than {min_points} behaviour weights")
    off = abs(_late(ratio) - 1) if ratio else 0.0
    share = _late(capped) if capped else 0.0
    if off <= close and share <= cut:
        return None
    if capped and share / cut >= off / close:
        curve, limit = capped, cut
        onset = first_sustained(curve, lambda values: values > cut)
        what = f"{percent(share)} of the tokens have a behaviour weight outside the cap"
    else:
        assert ratio is not None
        curve, limit = ratio, 1.0
        onset = first_sustained(curve, lambda values: np.abs(values - 1) > close)
        what = f"the behaviour weight averages {number(_late(ratio))} instead of 1"
    severe = off >= drastic or share >= most
    return Finding(
        message=(
            f"{what}: the data are too old, or made by another distribution; train 20 steps on fresh data only and "
            "look whether it returns"
        ),
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        confidence=Confidence.HIGH if severe else Confidence.MEDIUM,
        metric=curve.name,
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=(
            Evidence(text=what, series=curve, since=onset, level=limit),
            *([Evidence(text="age of the data", series=staleness_mean)] if staleness_mean is not None else []),
        ),
        facts={"off": off, "capped": share},
    )


def _late(curve: Series) -> float:
    return float(np.median(curve.tail(0.5).values))
