"""The policy learns and goes on sampling as at random.

Looks for: An entropy that begins at the logarithm of a small number of actions, which is that of a policy without
preferences, and is still `min_share` of this in the last fifth of the run, although the score has risen and was not
lost again.
Why: The policy has learned which actions are better, but the entropy bonus (or a temperature) keeps their probabilities
nearly equal. A greedy evaluation looks good, but the policy that collects the data acts at random, and both stay below
what can be reached.
False alarm: The first part of a long run. Tasks in which nearly all actions are equally good.
Fix:
- Lower {entropy_coef} to 0.01 or 0, or let it decay.
- Compare the training return with the greedy evaluation: the difference is what the randomness costs.
Experiment: {entropy_coef} = 0 for a tenth of the run: entropy and training return must change.
References: https://arxiv.org/abs/2005.12729
"""

import math

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors._start import continued
from firstbreak.knowledge.detectors.exploration._words import entropy_weight
from firstbreak.model import Finding, NotApplicable, NotMeasured, Role, Series
from firstbreak.words import percent

ROLES = (Role.RELATION,)


def detect(
    policy_entropy: Series,
    trajectory: Trajectory,
    policy: Policy = Policy.CONTROL,
    action_std: Series | None = None,
    method: Method | None = None,
    *,
    min_share: float = at(0.96, "share", "A policy that has learned has clearly less."),
    tolerance: float = at(0.02, "share", "How near to the logarithm of a number of actions the start lies."),
    max_actions: int = at(6, "actions", "The logarithms of larger numbers of actions are too close to each other."),
    min_points: int = at(30, "points", "Fewer values do not show a standstill."),
) -> Finding | NotApplicable | NotMeasured | None:
    if policy is Policy.TEXT or action_std is not None:
        return NotApplicable("the largest entropy of such a policy is not known")
    entropy = policy_entropy.finite
    if len(entropy) < min_points or continued(entropy):
        return NotMeasured(f"{len(entropy)} values of the entropy from the start on are too few (needs {min_points})")
    start, late = float(np.max(entropy.head(0.1).values)), float(np.median(entropy.tail(0.2).values))
    choices = range(2, max_actions + 1)
    uniform = next((math.log(k) for k in choices if abs(start / math.log(k) - 1) < tolerance), None)
    if uniform is None or float(np.max(entropy.values)) > (1 + tolerance) * uniform:
        return NotMeasured("the entropy does not begin at that of a policy without preferences")
    if trajectory.kind == "flat" or trajectory.lost or late < min_share * uniform:
        return None
    first = float(entropy.steps[0])
    interval = (first, float(entropy.steps[len(entropy) // 2]))
    return warning(
        "entropy is {late} nats at the end of {n} logged updates, {share} of the entropy of random actions, although the "
        "score has changed; lower the {weight}",
        seen_in(policy_entropy, "entropy", first, interval, metric="policy.entropy", level=uniform),
        late=facts.median(entropy.tail(0.2)),
        n=facts.count(entropy),
        share=percent(late / uniform),
        weight=entropy_weight(method),
    )
