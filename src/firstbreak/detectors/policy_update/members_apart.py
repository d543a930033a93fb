"""Some of the agents or seeds in this log fell, while others did not.

## What it looks for
Where one log holds the curves of several agents, seeds or environments: those whose own score was lost, beside those that
kept theirs.

## Why it matters
The mean over members hides the ones that fell. A method that loses every third seed is not stable, whatever its mean says,
and a comparison that picks the best seed measures luck.

## When it is a false alarm
Members that are different experiments on purpose, some of them meant to fail.

## Fix
- Look at the members that fell one by one: firstbreak diagnoses each when it is given alone.
- Lower {learning_rate}; for off-policy methods a slower target network ({target_update_interval}) and a larger buffer.

## Smallest experiment
Repeat one member that fell and one that did not with their seeds exchanged: what follows the seed is luck, what stays is
the configuration.

## References
https://arxiv.org/abs/1709.06560
https://arxiv.org/abs/2108.13264
"""

from __future__ import annotations

from firstbreak.model import Confidence, Evidence, Finding, Series, Severity
from firstbreak.stats.direction import fall_from_best
from firstbreak.stats.shape import trajectory
from firstbreak.words import number

SHOWN = 3


def detect(members: dict[str, Series], *, much: float = 0.25, min_points: int = 20) -> Finding | None:
    shapes = {name: trajectory(s) for name, s in members.items() if len(s) >= min_points}
    fell = {name: shape for name, shape in shapes.items() if shape.lost and shape.drop_fraction >= much}
    if not fell:
        return None
    worst = sorted(fell, key=lambda name: -min(fell[name].drop_fraction, 1e9))[:SHOWN]
    told = "; ".join(f"{name} from {number(fell[name].best)} to {number(fell[name].end)}" for name in worst)
    falls = [fall_from_best(members[name]) for name in fell]
    earliest = min(falls, key=lambda fall: fall[0])
    return Finding(
        message=f"{len(fell)} of {len(shapes)} members lost much of what they had learned ({told}): diagnose these alone",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=members[worst[0]].name,
        onset=earliest[0],
        interval=earliest[1],
        evidence=tuple(Evidence(text=name, series=members[name], level=fell[name].best) for name in worst),
        facts={"fell": tuple(fell), "share": len(fell) / len(shapes)},
    )
