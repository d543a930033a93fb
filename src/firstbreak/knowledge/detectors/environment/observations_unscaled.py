"""Observations are huge or tiny, or lie far from 0.

Looks for: The size of the largest component of the observation, and the mean over the spread of a component that lies
far from 0, in the first quarter of the run and at its end: above `max_size`, below `min_size`, or above `max_offset`.
Why: The first layer of a network is drawn for inputs around 1. A component in the thousands saturates it or hides all
others, and a large constant beside a small change leaves nothing of the change. Of components near 0 it sees nothing.
False alarm: A network that divides by a constant itself; observations in bytes.
Fix:
- Normalise with running statistics (VecNormalize, NormalizeObservation), and save these with the model.
- Subtract what is constant; divide by a typical size.
Experiment: Train 20,000 steps with observations that are normalised: does the value loss fall now?
References: https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Finding, Series

FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_observation_size: Series,
    env_observation_offset: Series | None = None,
    *,
    max_size: float = at(1000.0, "observation units", "forces of some simulators reach hundreds and are learned"),
    min_size: float = at(0.02, "observation units", "a fiftieth of what layers are drawn for"),
    max_offset: float = at(100.0, "ratio", "of the mean, a hundredth is all that the state changes"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | None:
    size = enough(env_observation_size.finite, min_points, "windows of transitions")
    offset = None if env_observation_offset is None else env_observation_offset.finite
    for curve, sign, limit, said in (
        (offset, 1, max_offset, "a component of the observation lies {typical} times its spread away from 0"),
        (size, 1, max_size, "a component of the observation has the size {typical}"),
        (size, -1, min_size, "the largest component of the observation has the size {typical}"),
    ):
        if curve is None or len(curve) < min_points:
            continue
        levels = [median(part.values) for part in (curve.head(0.25), curve.tail(0.25))]
        if any(levels) and min(sign * (level - limit) for level in levels) > 0:
            return warning(
                said
                + ": the network cannot use such observations; normalise them with running statistics, and save these "
                "with the model",
                seen_in(curve, "scale of the observations", level=limit),
                typical=facts.median(curve),
                confidence=Confidence.MEDIUM,
                numbers={"typical": median(curve.values)},
            )
    return None
