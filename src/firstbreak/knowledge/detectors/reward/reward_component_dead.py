"""A component of the reward never changes.

Looks for: Reward components that have one value in the whole run while others change.
Why: A constant component adds nothing to any advantage. Either the component can never be earned (its pattern does not
match what the model writes), or it is always earned. In both cases it teaches nothing.
False alarm: A penalty that is only given when something goes wrong (a penalty for cheating that stays at 0). A run of a
few steps.
Fix:
- Read ten completions, or watch ten episodes, and score them by hand against that reward function.
- Remove the component, or correct its pattern until a good sample earns the reward.
Experiment: Call the reward function on one hand-made sample that should earn the reward, and on one that should not.
References: https://arxiv.org/abs/2209.13085
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, notice
from firstbreak.model import Evidence, Finding, NotMeasured, Series


def detect(
    reward_component_mean: dict[str, Series],
    *,
    min_points: int = at(20, "points", "In fewer points a rare reward can be missing by chance."),
) -> Finding | NotMeasured | None:
    longest = max(len(s.finite) for s in reward_component_mean.values())
    if longest < min_points:
        return NotMeasured(f"{longest} points are too few to call a component constant (needs {min_points})")
    dead = {
        k: s for k, s in reward_component_mean.items() if len(s.finite) >= min_points and np.ptp(s.finite.values) == 0
    }
    if not dead or len(dead) == len(reward_component_mean):
        return None
    always = (facts.tell("{name} (always {value})", name=name, value=facts.first(s.finite)) for name, s in dead.items())
    return notice(
        "constant reward components teach nothing: {names}; compute each of them for one hand-made good sample",
        Seen(
            metric=next(iter(dead.values())).name,
            onset=float(next(iter(dead.values())).steps[0]),
            interval=None,
            evidence=tuple(Evidence(text=name, series=s) for name, s in dead.items()),
        ),
        names=facts.joined(always),
        numbers={"dead": tuple(dead)},
    )
