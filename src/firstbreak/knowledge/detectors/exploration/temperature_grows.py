"""The temperature of soft actor-critic grows without end.

## What it looks for
The temperature (`ent_coef`, alpha) is at its end more than `growth` times its level before it began to grow, it still grows, and
the score does not rise with it. It is critical where the configured target is above ln 2 for each dimension of the actions, the
entropy of uniform actions between -1 and 1.

## Why it matters
The temperature is steered so that the entropy of the policy meets a target. It grows while the entropy is below the target. Where
actions cannot be as random as the target asks (a target with the wrong sign, or for other units of the actions), it grows until
the bonus outweighs every reward, and the policy only acts at random.

## When it is a false alarm
Rewards that grow as much: the temperature has their unit.

## Fix
- Set {target_entropy} to minus the number of action dimensions, with actions scaled to -1 to 1.
- Check the sign of the temperature's loss.

## Smallest experiment
Train with a constant {entropy_coef} of 0.1: if the score rises, the target was out of reach.

## References
https://arxiv.org/abs/1812.05905
https://stable-baselines3.readthedocs.io/en/master/modules/sac.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, Message, NotMeasured, Role, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number

ROLES = (Role.RELATION,)
DIMENSIONS = pattern(r"(act|action|n|num)_?(dims?|actions?)", re.IGNORECASE)


def detect(
    alpha: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    config: Config | None = None,
    *,
    growth: float = at(10.0, "ratio", "The temperature of sound runs falls, or follows the reward's scale by less."),
    min_points: int = at(
        20, "points", "Fewer values show no steady growth, unless each is higher than the one before."
    ),
    min_steady: int = at(8, "points", "So many values rise one after the other by chance once in 40,000 times."),
) -> Finding | NotMeasured | None:
    curve = alpha.finite
    steady = len(curve) >= min_steady and bool((np.diff(curve.values) > 0).all())
    if (len(curve) < min_points and not steady) or curve.values.min() <= 0:
        return NotMeasured(f"the temperature has fewer than {min_points} positive values")
    low = int(np.argmin(curve.values))
    end, lowest = median(curve.tail(0.05).values), float(curve.values[low])
    still = end > 1.05 * median(curve.tail(0.3).head(1 / 3).values)
    rising = trajectory is not None and trajectory.kind == "rising"
    if end < growth * lowest or end < float(curve.values[0]) or not still or rising or solved:
        return None
    step, most = float(curve.steps[low]), _most(config) if config is not None else None
    return Finding(
        message=facts.tell(
            "the temperature grew from {low} at {step} to {end} and still grows: the entropy stays below its target, which the "
            "policy cannot reach{most}; check the target entropy and the range of the actions",
            most=most or "",
            low=facts.lowest(curve),
            step=facts.at(curve, step),
            end=facts.median(curve.tail(0.05)),
        ),
        severity=Severity.CRITICAL if most else Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(curve, "temperature", step),
        numbers={"growth": end / lowest},
    )


def _most(config: Config) -> Message | None:
    """What says that the target lies above the entropy of uniform actions; None where it does not, or is not known."""
    dims = next(
        (v for k, v in config.raw.items() if DIMENSIONS.fullmatch(k.rpartition(".")[2]) and isinstance(v, int)), None
    )
    target = config.number("target_entropy")
    if dims is None or target is None or target <= dims * np.log(2):
        return None
    return facts.tell(
        " (a target of {target}, and uniform actions in {dims} dimensions have {most})",
        target=facts.setting(config, "target_entropy"),
        dims=number(dims),
        most=number(dims * float(np.log(2))),
    )
