"""The advantages are not those of the recorded rewards, values and ends.

Looks for: The trainer's advantages are computed again from the rewards, values and episode ends that the environment
reported. The check reports where the relative distance is above `tolerance` in at least `min_share` of the batches from
some batch on, and where the difference is not the sign.
Why: A done mask that is missing or one step off, values of the wrong state, returns of another environment: the
advantages are wrong long before the return shows the damage.
False alarm: Another estimator than generalised advantage estimation on purpose (V-trace, reward shaping inside the
estimate).
Fix:
- Multiply the bootstrap value by 1 - terminated, at the right index.
- Compare the advantages of one short episode with a sum by hand.
Experiment: Compute the advantages of a hand-made buffer with an end in the middle, and compare them with a calculation
by hand.
References: https://arxiv.org/abs/1506.02438 https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, enough, seen_since
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.onset import first_sustained, since_last
from firstbreak.model import Finding, Series


def detect(
    advantage_error: Series,
    advantage_turned: Series | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    tolerance: float = at(0.02, "share", "Rounding gives a smaller distance."),
    min_share: float = at(0.7, "share", "Batches in which no episode ends hide a wrong done mask."),
    min_points: int = at(3, "points", "One or two batches can be special, as the first one is."),
) -> Finding | None:
    error = enough(advantage_error.finite, min_points, "batches")
    step = first_sustained(error, lambda values: values > tolerance, min_points)
    if step is None or float(np.mean(error.between(step).values > tolerance)) < min_share:
        return None
    if advantage_turned is not None and float(np.median(advantage_turned.finite.between(step).values)) > min_share:
        return None  # advantages-turned-round reports this
    size = float(np.median(error.between(step).values))
    sample = "completion" if policy is Policy.TEXT else "episode"
    return critical(
        "the advantages differ by {size:%} from those of the recorded rewards, values and ends, from {step} on: check "
        "the done mask, and compute the advantages of one short {sample} by hand",
        seen_since(error, "distance of the advantages", step, since_last(error, step), level=0.0),
        size=facts.median(error.between(step)),
        step=facts.at(error, step),
        sample=sample,
        numbers={"error": size},
    )
