"""The rewards take other values than before.

Looks for: The smallest and the largest reward of each batch. The check reports where one of them was constant to the
last digit for `min_constant_batches` batches or more, and then lies outside that value, by at least `min_change` of the
range, in at least `min_share` of the batches.
Why: A policy decides which of the possible rewards it gets, and cannot add new ones. New values mean that the reward
itself was changed: its sign, its scale, a bonus or a penalty, another verifier. The scores before and after that step
cannot be compared.
False alarm: A planned curriculum of rewards. A first success, which raises the largest reward from the lowest value, is
not reported; neither is a largest or smallest reward that was never constant.
Fix:
- Compare the reward code and configuration before and after that step (a resumed run, a hot reload, a new judge version).
- Score the same completions with both versions and compare.
Experiment: Score one saved batch of completions from before that step with the present reward.
References: https://arxiv.org/abs/2201.03544
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, graded, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.model import Finding, NotApplicable, NotMeasured, Series, Severity

FAMILIES = only(Policy.TEXT, why="the smallest and the largest return of episodes move with what the policy reaches")


def detect(
    reward_min: Series | None = None,
    reward_max: Series | None = None,
    *,
    min_constant_batches: int = at(8, "batches", "In fewer batches, an extreme reward can be the same by chance."),
    min_share: float = at(0.6, "share", "A rare new value can be one unusual sample."),
    min_change: float = at(0.02, "share", "A smaller change, in shares of the range of rewards, has no effect."),
    min_points: int = at(20, "points", "Fewer batches do not show a value before and a value after."),
) -> Finding | NotApplicable | NotMeasured | None:
    curves = [s.finite for s in (reward_min, reward_max) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(f"the smallest and the largest reward of a batch are not logged for {min_points} batches")
    room = max(float(c.values.max()) for c in curves) - min(float(c.values.min()) for c in curves)
    seen = [
        (at, curve)
        for curve in curves
        if (at := _left(curve, min_constant_batches, min_share, min_change * room)) is not None
    ]
    if not seen:
        return None
    at, curve = min(seen, key=lambda pair: pair[1].steps[pair[0]])
    before, after = float(curve.values[0]), float(np.median(curve.values[at:]))
    since = float(curve.steps[at])
    return graded(
        Severity.CRITICAL if before * after < 0 or before == 0 > after else Severity.WARNING,
        "{curve} was {before} in every batch and is {after} from {since} on: the reward itself was changed; score one saved "
        "batch from before with the present reward and compare",
        seen_since(curve, curve.name, *from_point(curve, at), level=before),
        curve=curve.name,
        before=facts.first(curve),
        after=facts.median(curve.between(since)),
        since=facts.at(curve, since),
        numbers={"before": before, "after": after},
    )


def _left(curve: Series, min_constant_batches: int, min_share: float, min_change: float) -> int | None:
    """Where a curve that was constant left its value outwards; inwards (fewer extremes seen) is the policy's doing."""
    values = curve.values
    other = np.flatnonzero(values != values[0])
    if not len(other) or other[0] < min_constant_batches:
        return None
    at = int(other[0])
    outside = values[at:] < values[0] if curve.name.endswith("min") else values[at:] > values[0]
    first_success = curve.name.endswith("max") and values[0] <= 0
    small = abs(float(np.median(values[at:])) - values[0]) < min_change
    return at if np.mean(outside) >= min_share and not first_success and not small else None
