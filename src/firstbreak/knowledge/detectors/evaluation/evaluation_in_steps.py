"""The evaluation repeats its score, and changes only now and then.

Looks for: Evaluations that equal the one before them to the last digit, in at least `min_share` of all cases, although
the score changes from time to time and training goes on.
Why: The evaluation uses new weights only now and then: it loads the last checkpoint that was saved, or a copy that is
synchronised once in several evaluations. The curve is later than the policy, and the checkpoint that is chosen as the
best one is a later one.
False alarm: Scores with few possible values (ten problems), or a greedy policy that hardly changes.
Fix:
- Log the version of the weights beside each evaluation.
- Evaluate after the weights were synchronised, or in the trainer's own process.
Experiment: Evaluate the weights in the trainer's own process once, and compare with the logged score.
References: https://stable-baselines3.readthedocs.io/en/master/guide/callbacks.html
"""

import numpy as np

from firstbreak.engine.checks import at, enough, seen_since, warning
from firstbreak.engine.families import Method, without
from firstbreak.engine.stats.points import distinct
from firstbreak.model import Finding, NotMeasured, Role, Series
from firstbreak.words import percent

ROLES = (Role.RELATION,)
FAMILIES = without(Method.SUPERVISED)
NO_RATE = 0.01  #: of the highest learning rate (convention)
MATERIAL = 0.1  #: of the range of the score: a policy that is stuck still changes by less (convention)


def detect(
    eval_score: Series,
    eval_reward: Series | None = None,
    policy_entropy: Series | None = None,
    kl_old: Series | None = None,
    kl_ref: Series | None = None,
    lr: Series | None = None,
    *,
    min_share: float = at(0.5, "share", "half of the evaluations are copies of the one before"),
    min_changes: int = at(2, "evaluations", "a score that changes once may be a single step of the policy"),
    min_values: int = at(3, "values", "a score with fewer different values repeats by chance"),
    few_items: int = at(32, "items", "a share of so few is often the same again", "binomial"),
    moved: float = at(0.05, "nats", "From its reference: nearer to it, the policy is hardly another one."),
    min_evaluations: int = at(8, "evaluations", "with fewer evaluations repetitions may be chance"),
) -> Finding | NotMeasured | None:
    enough(eval_score, min_evaluations, "evaluations", "to see repetitions")
    curves = [
        eval_score,
        *([eval_reward.finite] if eval_reward is not None and len(eval_reward) == len(eval_score) else []),
    ]
    same = np.logical_and.reduce([np.diff(s.values) == 0 for s in curves])
    possible = max(len(distinct(s.values)) for s in curves)
    at_end = np.isin(eval_score.values[1:], (0.0, 1.0)) | (
        np.abs(eval_score.values[1:]) == np.max(np.abs(eval_score.values))
    )
    repeated, changed = same & ~at_end, ~same
    material = np.abs(np.diff(eval_score.values)) > MATERIAL * np.ptp(eval_score.values)
    if np.mean(repeated) < min_share or np.sum(changed & material) < min_changes or possible < min_values:
        return None
    if all(_few_items(s.values, few_items) for s in curves):
        return NotMeasured(f"the score is a share of at most {few_items} items, which repeats by chance")
    still = [s for s in (policy_entropy, kl_old) if s is not None and len(s.finite) and np.ptp(s.finite.values) == 0]
    near = kl_ref is not None and len(kl_ref.finite) > 0 and float(np.max(np.abs(kl_ref.finite.values))) < moved
    rates = None if lr is None or not len(lr.finite) else np.interp(eval_score.steps, lr.finite.steps, lr.finite.values)
    gone = rates is not None and float(np.mean(rates < NO_RATE * rates.max())) > min_share / 2
    if still or near or gone:
        return None  # a policy that hardly moves answers the same again
    first = float(eval_score.steps[int(np.argmax(repeated))])
    interval = (float(eval_score.steps[0]), float(eval_score.steps[int(np.argmax(repeated)) + 1]))
    return warning(
        f"{percent(float(np.mean(repeated)))} of the evaluations repeat the one before to the last digit, and the "
        f"score changes {int(np.sum(changed))} times: the evaluation uses new weights only now and then; "
        "log the version of the weights beside each score",
        seen_since(eval_score, "evaluation", first, interval),
        numbers={"share": float(np.mean(repeated))},
    )


def _few_items(values: np.ndarray, most: int) -> bool:
    """Whether all values are shares of one whole number of items, at most `most`."""
    if values.min() < 0 or values.max() > 1 or np.ptp(values) == 0:
        return False
    counts = values * np.arange(1, most + 1)[:, None]
    return bool((np.abs(counts - np.round(counts)) < 1e-3).all(axis=1).any())
