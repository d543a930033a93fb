"""What happens does not follow from the actions that the policy chose.

Looks for: The largest share of a component's change that the actions of the last steps explain, in the first quarter of
the run, where the policy still explores most. A finding is a share below `max_explained` and above `min_explained`, or
one below `max_disconnected` where effects that depend on the state are counted too.
Why: Actions can be replaced, dropped, clipped, or sent to the wrong joint. The log-probabilities or action values then
belong to actions that were never executed, and the gradient points at noise.
False alarm: Sticky actions by design; observations that do not depend linearly on the actions; a task whose next
observation does not depend on the action at all (a bandit with context, prices of a market). So the finding is a guess.
A share that falls later is not counted: a better policy visits states where actions explain less (Acrobot or
MountainCar at high speed).
Fix:
- Log the action that the environment executes beside the one that the policy chose.
- Check clipping, scaling and the order of the action's components.
Experiment: Send the largest and the smallest action for ten steps each, and check whether the observation moves as you
expect.
References: https://arxiv.org/abs/2101.00135
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.model import Confidence, Finding, Series, Statistic

FAMILIES = only(Policy.CONTROL)


def detect(
    env_action_shown: Series,
    env_action_shown_any: Series | None = None,
    *,
    max_explained: float = at(0.5, "share", "executed actions explain most of the change of what they move"),
    min_explained: float = at(0.02, "share", "below this no action shows in the observation at all"),
    max_disconnected: float = at(0.06, "share", "chance explains so much, and nothing is left"),
    first_share: float = at(0.25, "share", "the policy explores most here; the share falls later anyway"),
    min_points: int = at(6, "points", "with fewer windows no level is known"),
) -> Finding | None:
    curve = enough(env_action_shown.finite, min_points, "windows of transitions")
    share = float(np.quantile(curve.head(first_share).values, 0.9))
    anyhow = None if env_action_shown_any is None else env_action_shown_any.finite.head(first_share)
    if anyhow is not None and len(anyhow) and float(np.quantile(anyhow.values, 0.9)) < max_disconnected:
        return _disconnected(env_action_shown_any or curve, anyhow)
    if not min_explained < share < max_explained:
        return None
    return warning(
        "at first, actions explain {share:%} of the change of what they move or less, nine times out of ten: the "
        "environment may not execute the actions that the policy chose; log the action that the environment executes",
        seen_in(curve, "explained by actions"),
        share=facts.of(Statistic.QUANTILE, curve.head(first_share), 0.9),
        confidence=Confidence.LOW,
        numbers={"share": share},
    )


def _disconnected(curve: Series, first: Series) -> Finding:
    start = float(curve.finite.steps[0])
    return warning(
        "actions explain {share:%} of what changes or less, in whatever state: the environment does not execute the actions "
        "that the policy chose, or nothing that is observed depends on them; log the action that the environment executes",
        seen_in(curve, "explained by actions, in whatever state", start),
        share=facts.of(Statistic.QUANTILE, first, 0.9),
        confidence=Confidence.MEDIUM,
        numbers={"share": float(np.quantile(first.values, 0.9))},
    )
