"""An action has another effect than before.

Looks for: How much the first action changes the component of the observation that actions change most. A finding needs
another sign than in the first quarter of the run, or a size that differs by more than `min_change`, up to the end of
the run. A window counts only where actions explain `min_explained` of that change: there the effect is one number, and
does not depend on the states that the policy visits. The same is asked of the effect of every action on every such
component.
Why: The effect of an action is a property of the environment, whatever the policy is. Where the effect changes, the
environment has changed: another version of a simulator, other units of an action, or an actuator that responds in
another way.
False alarm: Domain randomisation. Where the dynamics differ from state to state (Acrobot at high speed), actions
explain little of a window, and this detector says nothing.
Fix:
- Compare versions and settings of the environment before and after that step.
- Evaluate a checkpoint from before that step in today's environment.
Experiment: Take the same action from the same state in the old and in the new environment, and compare the next
observations.
References: https://arxiv.org/abs/1709.06560
"""

from typing import Any

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.knowledge.detectors.environment._moved import moved
from firstbreak.model import Finding, NotMeasured, Series
from firstbreak.values import replace
from firstbreak.words import number

FAMILIES = only(Policy.CONTROL)


def detect(
    env_action_effect: Series,
    env_action_shown_at_once: Series,
    env_action_effect_moved: Series | None = None,
    *,
    min_explained: float = at(0.95, "share", "only then is the effect of an action one number", "lab"),
    min_change: float = at(0.3, "share", "a change of the effect that noise does not make"),
    max_spread: float = at(0.1, "share", "an effect that differs more between the first windows depends on the state"),
    min_clear_share: float = at(0.5, "share", "where fewer are clear, they are a region of the states"),
    first_share: float = at(0.25, "share", "the first quarter of the windows shows what is usual"),
    lasting_points: int = at(4, "points", "a change that is not one window alone"),
    lasting_share: float = at(0.7, "share", "a change that holds up to the end of the run"),
    min_points: int = at(6, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    effect, shown = env_action_effect.finite, env_action_shown_at_once.finite
    explained = np.interp(effect.steps, shown.steps, shown.values) if len(shown) else np.zeros(len(effect))
    clear = explained >= min_explained
    curve = replace(effect, steps=effect.steps[clear], values=effect.values[clear])
    if len(curve) < min_points or np.mean(clear) < min_clear_share:
        return NotMeasured(
            f"actions explain the change of the observation in {len(curve)} windows only (needs {min_points})"
        )
    first = curve.head(first_share).values
    usual = abs(float(np.median(first)))
    if float(np.median(np.abs(first - np.median(first)))) > max_spread * usual:
        return NotMeasured("the effect of an action differs from window to window: it depends on the state")
    over: Any = {"first_share": first_share, "lasting_points": lasting_points, "lasting_share": lasting_share}
    apart = None if env_action_effect_moved is None else env_action_effect_moved.finite
    what = "an action changes the observation by {after}, and by {before} before"
    change = moved(curve, lambda values, level: np.abs(values - level) > min_change * abs(level), **over)
    if change is None and apart is not None and len(apart) > lasting_points:
        curve, what = (
            apart,
            "an action's effect on a component is {after} times its size away from the first, and was {before}",
        )
        change = moved(curve, lambda values, level: (level <= max_spread) & (values - level > min_change), **over)
    if change is None:
        return None
    return critical(
        "from {step} on, " + what + ": the environment changed; "
        "compare its version and settings before and after that step",
        seen_since(curve, "effect of an action", change.step, change.interval, level=change.before),
        step=facts.at(curve, change.step),
        after=number(change.after),
        before=number(change.before),
        numbers={"before": change.before, "after": change.after},
    )
