"""The data come from a policy that the correction can no longer bridge.

## What it looks for
The mean importance weight of the proximal policy over the behaviour policy, over the second half of the run, compared
with 1; and the share of tokens whose weight lies outside the cap ({behave_weight_cap}).

## Why it matters
Decoupled training multiplies each token by this weight to correct for old data. The expected weight is 1. If the mean is
far from 1, or if the cap cuts many tokens, the correction removes or distorts a part of the batch, and the rest no longer
shows what the policy does.

## When it is a false alarm
Most trainers average over the tokens that were kept, after the clamp. So a mean near 1 proves little, and the share
outside the cap is the better number. A tight cap on purpose cuts more tokens.

## Fix
- Lower {max_staleness}: fresher data need less correction.
- Set {behave_weight_cap} (5 is usual), so that single tokens cannot decide the gradient.
- Let the trainer compute the proximal log-probabilities again ({recompute_logprob}).

## Smallest experiment
Twenty steps with {max_staleness} 0: if the weight returns to 1, the age of the data was the cause. If the weight does not
return, engine and trainer disagree at equal weights.

## References
https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/2110.00641
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Family, Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import late_median
from firstbreak.knowledge.detectors.freshness._engines import nothing_recorded
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Series, Severity


def detect(
    family: Family,
    behave_ratio_mean: Series | None = None,
    behave_ratio_cap_frac: Series | None = None,
    staleness_mean: Series | None = None,
    *,
    tolerance: float = at(0.03, "ratio", "A mean weight this close to its expectation of 1 is fine."),
    deviation_critical: float = at(0.5, "ratio", "The data are then weighted half as much again, or half."),
    max_share: float = at(0.1, "share", "A cap that cuts more tokens removes a part of the batch."),
    share_critical: float = at(0.5, "share", "The cap then cuts half of the batch."),
    min_points: int = at(4, "points", "Fewer weights show no level."),
) -> Finding | NotApplicable | NotMeasured | None:
    ratio = behave_ratio_mean.finite if behave_ratio_mean is not None else None
    capped = behave_ratio_cap_frac.finite if behave_ratio_cap_frac is not None else None
    if not ratio and not capped:
        return nothing_recorded(family, "the weight of the proximal over the behaviour policy is")
    if max(len(ratio or ()), len(capped or ())) < min_points:
        return NotMeasured(f"fewer than {min_points} behaviour weights are logged")
    off = abs(late_median(ratio, 0.5) - 1) if ratio else 0.0
    share = late_median(capped, 0.5) if capped else 0.0
    if off <= tolerance and share <= max_share:
        return None
    if capped and share / max_share >= off / tolerance:
        curve, limit = capped, max_share
        onset = first_sustained(curve, lambda values: values > max_share)
        samples = "tokens" if family.policy is Policy.TEXT else "samples"
        what = facts.tell(
            "{share:%} of the {samples} have a behaviour weight outside the cap",
            share=facts.median(capped.tail(0.5)),
            samples=samples,
        )
    else:
        assert ratio is not None
        curve, limit = ratio, 1.0
        onset = first_sustained(curve, lambda values: np.abs(values - 1) > tolerance)
        what = facts.tell(
            "the behaviour weight averages {late} in the second half, instead of 1", late=facts.median(ratio.tail(0.5))
        )
    severe = off >= deviation_critical or share >= share_critical
    return Finding(
        message=facts.tell(
            "{what}: the data are too old, or come from another distribution; train 20 steps on fresh data only, and check "
            "whether the value returns",
            what=what,
        ),
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        confidence=Confidence.HIGH if severe else Confidence.MEDIUM,
        **seen_since(curve, what, onset, level=limit, beside={"age of the data": staleness_mean}),
        numbers={"off": off, "capped": share},
    )
