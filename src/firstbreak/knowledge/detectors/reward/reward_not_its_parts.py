"""The reward is not the weighted sum of its parts any more, or its penalty pays.

Looks for: The trained reward is a sum of logged parts, each times a constant weight, and a constant. Weights are fitted
to the first rows that give the reward exactly. The check reports a step from which on the same weights leave more than
rounding.

And the part for the divergence from the reference, which is added to the reward of the task: it must be negative where the
divergence is positive. Where it is positive in (nearly) every row, its sign is wrong.
Why: Something else than the logged parts pays from there on: a weight was changed, a part is not logged, is not a
number for some samples, or is clipped. What the policy is trained on is then not what one looks at. A penalty with the
wrong sign pays the policy for leaving the reference: the divergence grows without bound and the entropy falls, while
the trained reward rises.
False alarm: A schedule of the weights, on purpose.
Fix:
- Log every part and every weight, and compare their sum with the reward for one batch.
- A penalty that pays: the reward is that of the task minus {kl_coef} times the divergence.
Experiment: Print parts, weights and reward of ten samples before and after that step.
References: https://huggingface.co/docs/trl/main/en/grpo_trainer
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, from_point, seen_since, warning
from firstbreak.engine.stats.changes import for_good
from firstbreak.model import Finding, NotMeasured, Role, Series
from firstbreak.values import replace
from firstbreak.words import number

ROLES = (Role.RELATION,)
NEAR = 0.05  #: of the largest divergence: an estimate so near to 0 may have either sign (convention)
NEARLY_ALL = 0.95  #: share of rows (convention)


def detect(
    reward_mean: Series,
    reward_component_mean: dict[str, Series] | None = None,
    reward_shaped_mean: Series | None = None,
    reward_kl_penalty: Series | None = None,
    kl_ref: Series | None = None,
    kl_ref_seq_sum: Series | None = None,
    *,
    exact: float = at(2e-3, "share", "of the reward's range: logs are rounded to three or four digits"),
    beyond: float = at(0.05, "share", "of the reward's range: a change that matters"),
    min_points: int = at(8, "points", "more than the weights that are fitted"),
) -> Finding | NotMeasured | None:
    divergence = kl_ref_seq_sum if kl_ref_seq_sum is not None else kl_ref
    paid = None
    if divergence is not None and reward_kl_penalty is not None and reward_shaped_mean is not None:
        paid = _paid(reward_kl_penalty, divergence, reward_shaped_mean, reward_mean, min_points)
    if isinstance(paid, Finding) or not reward_component_mean:
        return paid if divergence is not None else NotMeasured("no part of the reward is logged")
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
    return warning(
        "from {since} on the reward is {now}, and its parts with the weights of the steps before ({weights}) give {parts}: a "
        "weight changed, or something that is not logged pays; compare parts, weights and reward for one batch",
        seen_since(total, "reward", *from_point(total, first), along={"sum of its parts": expected}),
        since=facts.at(total, since),
        now=facts.mean(total.between(since)),
        parts=number(float(expected.between(since).values.mean())),
        weights=", ".join(number(float(weight)) for weight in weights[:-1]),
        sudden=True,
        numbers={"left": float(np.median(left[first:]))},
    )


def _paid(
    penalty: Series, divergence: Series, shaped: Series, task: Series, min_points: int
) -> Finding | NotMeasured | None:
    """A part for the divergence that is added to the reward of the task, and is positive where the divergence is."""
    curves = [curve.finite for curve in (penalty, divergence, shaped, task)]
    steps = set.intersection(*(set(curve.steps.tolist()) for curve in curves))
    part, apart, total, reward = (curve.values[np.isin(curve.steps, list(steps))] for curve in curves)
    if len({len(part), len(apart), len(total), len(reward)}) > 1:
        return NotMeasured("the penalty, the divergence and the rewards are not logged once a step")
    left = (np.abs(apart) > NEAR * np.max(np.abs(apart), initial=0.0)) & (part != 0)
    added = np.sign(total - reward) == np.sign(part)  # some logs print a penalty without its sign
    if left.sum() < min_points or np.mean(added[left]) < NEARLY_ALL:
        return NotMeasured(f"the penalty does not move the reward in {min_points} rows")
    wrong = np.sign(part) == np.sign(apart)
    if np.mean(wrong[left]) < NEARLY_ALL:
        return None
    since = float(np.array(sorted(steps))[np.argmax(left & wrong)])
    return critical(
        "{penalty} is {now} at a divergence of {apart}, and is added to the reward: the penalty pays the policy for leaving "
        "the reference; the reward is that of the task minus the coefficient times the divergence",
        seen_since(penalty, "part for the divergence", since, level=0.0, along={"divergence": divergence}),
        penalty=penalty.name,
        now=facts.median(curves[0].tail(0.25)),
        apart=facts.median(curves[1].tail(0.25)),
        numbers={"rows": int(left.sum())},
    )
