"""The reward is not the weighted sum of its parts any more.

## What it looks for
The trained reward is a sum of logged parts, each times a constant weight, and a constant. Weights are fitted to the first rows
that give the reward exactly. The check reports a step from which on the same weights leave more than rounding.

## Why it matters
Something else than the logged parts pays from there on: a weight was changed, a part is not logged, is not a number for some
samples, or is clipped. What the policy is trained on is then not what one looks at.

## When it is a false alarm
A schedule of the weights, on purpose.

## Fix
- Log every part and every weight, and compare their sum with the reward for one batch.

## Smallest experiment
Print parts, weights and reward of ten samples before and after that step.

## References
https://huggingface.co/docs/trl/main/en/grpo_trainer
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, seen_since
from firstbreak.engine.stats.changes import for_good
from firstbreak.model import Confidence, Finding, NotMeasured, Role, Series, Severity
from firstbreak.values import replace
from firstbreak.words import number

ROLES = (Role.RELATION,)


def detect(
    reward_mean: Series,
    reward_component_mean: dict[str, Series],
    *,
    exact: float = at(2e-3, "share", "of the reward's range: logs are rounded to three or four digits"),
    beyond: float = at(0.05, "share", "of the reward's range: a change that matters"),
    min_points: int = at(8, "points", "more than the weights that are fitted"),
) -> Finding | NotMeasured | None:
    total, parts = reward_mean.finite, [part.finite for part in reward_component_mean.values()]
    rows = [p for p in parts if len(p) == len(total) and np.array_equal(p.steps, total.steps)]
    need = max(min_points, 2 * len(parts) + 4)
    if len(rows) < len(parts) or len(total) < 2 * need:
        return NotMeasured(f"the reward and all of its parts are not logged together for {2 * need} steps")
    values = np.stack([*(part.values for part in rows), np.ones(len(total))], axis=1)  # and a constant
    spread = float(np.ptp(total.values)) or 1.0
    while need < len(total) // 2 and np.linalg.matrix_rank(values[:need]) < values.shape[1]:
        need += len(parts)  # a part that has not moved yet says nothing of its weight
    if np.linalg.matrix_rank(values[:need]) < values.shape[1]:
        return NotMeasured("the parts of the reward move together, so that their weights are not known")
    weights = np.linalg.lstsq(values[:need], total.values[:need], rcond=None)[0]
    left = np.abs(values @ weights - total.values) / spread
    if left[:need].max() > exact:
        return NotMeasured("the reward is no sum of its logged parts with constant weights")
    first = for_good(left > beyond, 0.9)
    if first is None or len(left) - first < min_points:
        return None
    since = float(total.steps[first])
    expected = replace(total, values=values @ weights)
    return Finding(
        message=facts.tell(
            "from {since} on the reward is {now}, and its parts with the weights of the steps before ({weights}) give {parts}: a "
            "weight changed, or something that is not logged pays; compare parts, weights and reward for one batch",
            since=facts.at(total, since),
            now=facts.mean(total.between(since)),
            parts=number(float(expected.between(since).values.mean())),
            weights=", ".join(number(float(weight)) for weight in weights[:-1]),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(total, "reward", *from_point(total, first), along={"sum of its parts": expected}),
        sudden=True,
        numbers={"left": float(np.median(left[first:]))},
    )
