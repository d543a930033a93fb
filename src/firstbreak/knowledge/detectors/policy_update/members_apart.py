"""Some of the agents or seeds in this log fell, while others did not.

Looks for: One log holds the curves of several agents, seeds or environments. Some of these members lost `min_drop` of
their own gain or more, and others kept theirs.
Why: The mean over the members hides those that fell. A method that fails with every third seed is not stable, whatever
its mean says, and a comparison that selects the best seed measures luck.
False alarm: The members are different experiments on purpose, and some of them are meant to fail.
Fix:
- Check the members that fell one by one: firstbreak diagnoses a member when its log is given alone.
- Lower {learning_rate}. For off-policy methods, use a slower target network ({target_update_interval}) and a larger
  buffer.
Experiment: Repeat one member that fell and one that did not, with their seeds exchanged: what follows the seed is luck,
and what stays is the configuration.
References: https://arxiv.org/abs/1709.06560 https://arxiv.org/abs/2108.13264
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.engine.stats.direction import fall_from_best
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Confidence, Evidence, Finding, Series

SHOWN = 3


def detect(
    members: dict[str, Series],
    *,
    min_drop: float = at(0.25, "share of the gain", "A smaller part of the gain is not worth a finding."),
    min_points: int = at(20, "points", "Fewer points do not show the shape of a score."),
) -> Finding | None:
    shapes = {name: trajectory(s) for name, s in members.items() if len(s) >= min_points}
    fell = {name: shape for name, shape in shapes.items() if shape.lost and shape.drop_fraction >= min_drop}
    if not fell:
        return None
    worst = sorted(fell, key=lambda name: -min(fell[name].drop_fraction, 1e9))[:SHOWN]
    shown = facts.joined(
        (
            facts.tell(
                "{name} from {best} to {end}",
                name=name,
                best=facts.best(members[name], fell[name]),
                end=facts.end(members[name], fell[name]),
            )
            for name in worst
        ),
        "; ",
    )
    falls = [fall_from_best(members[name], shape.best_step) for name, shape in fell.items()]
    earliest = min(falls, key=lambda fall: fall[0])
    return warning(
        "{fell} of {n} members lost much of what they had learned ({shown}); diagnose each of these members alone",
        seen_as(
            members[worst[0]].name,
            earliest[0],
            earliest[1],
            drawn=tuple(Evidence(text=name, series=members[name], level=fell[name].best) for name in worst),
        ),
        fell=f"{len(fell)}",
        n=f"{len(shapes)}",
        shown=shown,
        confidence=Confidence.MEDIUM,
        numbers={"fell": tuple(fell), "share": len(fell) / len(shapes)},
    )
