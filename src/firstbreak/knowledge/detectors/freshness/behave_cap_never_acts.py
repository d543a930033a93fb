"""Behaviour weights pass every usual cap, and none is capped.

Looks for: Batches whose largest behaviour importance weight lies above `min_excess` times the cap (the recorded one, or
else `default_cap`). From some batch on, the share of capped weights is exactly 0 in a share of `min_share` of these
batches. There must be `min_points_beyond` of them.
Why: A weight is large where old data have become improbable under the current policy. Without a bound, a few tokens
decide the whole batch: the gradient comes from these tokens alone, and its variance grows with the age of the data.
False alarm: The trainer masks such tokens instead of capping their weights, and logs the largest weight before the
mask.
Fix:
- Set {behave_weight_cap} to 2 to 5.
- Lower {max_staleness}, so that weights stay near 1.
Experiment: {behave_weight_cap} = 5 for a tenth of the run, compared with the same steps without a cap.
References: https://arxiv.org/abs/2505.24298
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.knowledge.detectors._unbound import unbound
from firstbreak.model import Config, Finding, NotMeasured, Role, Series, Statistic
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)


def detect(
    behave_ratio_max: Series,
    behave_ratio_cap_frac: Series,
    config: Config,
    policy: Policy = Policy.TEXT,
    *,
    default_cap: float = at(5.0, "ratio", "The usual cap, where none is recorded."),
    min_excess: float = at(1.2, "caps", "A weight just above the cap proves nothing yet."),
    min_share: float = at(0.8, "share", "A cap that acts more often than that exists."),
    min_points_beyond: int = at(4, "points", "Fewer weights above the cap may be chance."),
) -> Finding | NotMeasured | None:
    largest, capped = behave_ratio_max.finite, behave_ratio_cap_frac.finite
    if min(len(largest), len(capped)) < min_points_beyond:
        return NotMeasured(
            f"the largest weight and the share of capped weights are not both logged for {min_points_beyond} batches"
        )
    cap = config.number("behave_weight_cap") or default_cap
    limit = min_excess * cap
    found = unbound(largest, capped, limit, min_share=min_share, min_points_beyond=min_points_beyond)
    if found is None:
        return None
    since, lasting = found
    samples = "tokens" if policy is Policy.TEXT else "samples"
    interval = (float(largest.steps[0]), since)
    return warning(
        "the largest behaviour weight of a batch is up to {top} and above {limit} in {share:%} of the batches, and in "
        "{lasting} of those none is capped: single {samples} decide the update; set a cap of 2 to 5, and lower the age of "
        "the data",
        seen_since(largest, "largest weight", since, interval, level=cap, beside={"share of capped weights": capped}),
        top=facts.highest(largest),
        limit=number(limit),
        share=facts.of(Statistic.ABOVE, largest, limit),
        lasting=percent(lasting),
        samples=samples,
        numbers={"share": lasting},
    )
