"""The advantages have the wrong sign.

Looks for: The trainer's advantages are computed again from the recorded rewards, values and ends. The check reports
where more than `min_share` of them have the opposite sign from some batch on.
Why: Everything else is right, and the policy learns to do what was worse than expected.
False alarm: None known: an advantage is positive where the result was better than expected.
Fix:
- Look for a wrong minus sign between the advantage and the loss, or for a cost that is used as a reward.
Experiment: Train on one batch in which one action gets 1 and another one 0: after the update, the first must be more
probable.
References: https://arxiv.org/abs/1506.02438
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, enough, seen_since
from firstbreak.engine.stats.onset import first_sustained, since_last
from firstbreak.model import Finding, Series


def detect(
    advantage_turned: Series,
    *,
    min_share: float = at(0.9, "share", "Rounding can give single advantages near 0 the other sign."),
    min_points: int = at(3, "points", "One or two batches can be special, as the first one is."),
) -> Finding | None:
    turned = enough(advantage_turned.finite, min_points, "batches")
    step = first_sustained(turned, lambda values: values > min_share, min_points)
    if step is None:
        return None
    return critical(
        "{share:%} of the advantages have the wrong sign from {step} on: the policy learns what was worse than expected; "
        "look for a wrong minus sign between rewards and loss",
        seen_since(turned, "advantages with the wrong sign", step, since_last(turned, step), level=0.0),
        share=facts.mean(turned.between(step)),
        step=facts.at(turned, step),
    )
