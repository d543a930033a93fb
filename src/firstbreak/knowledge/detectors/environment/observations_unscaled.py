"""Observations are huge or tiny, or lie far from 0.

Looks for: The size of the largest component of the observation, and the mean over the spread of a component that lies
far from 0, in the first quarter of the run and at its end: above `max_size`, below `min_size`, or above `max_offset`. Where
none is measured: the bounds of the observation space in the configuration, beside a score that has not risen.
Why: The first layer of a network is drawn for inputs around 1. A component in the thousands saturates it or hides all
others, and a large constant beside a small change leaves nothing of the change. Of components near 0 it sees nothing.
False alarm: A network that divides by a constant itself; observations in bytes.
Fix:
- Normalise with running statistics (VecNormalize, NormalizeObservation), and save these with the model.
- Subtract what is constant; divide by a typical size.
Experiment: Train 20,000 steps with observations that are normalised: does the value loss fall now?
References: https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html https://arxiv.org/abs/2006.05990
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number

#: `Box(-1e6, 1e6, (6,), float32)`, as Gymnasium prints a space, here the upper bound of one number
BOX = pattern(r"Box\((?:low=)?[-+.\de]+, (?:high=)?(?P<high>[-+.\de]+)[,)]")
UNBOUNDED = 1e9  #: bounds beyond are those of a type, and say nothing of sizes (convention)
FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    config: Config,
    env_observation_size: Series | None = None,
    env_observation_offset: Series | None = None,
    score: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    max_size: float = at(1000.0, "observation units", "forces of some simulators reach hundreds and are learned"),
    min_size: float = at(0.02, "observation units", "a fiftieth of what layers are drawn for"),
    max_offset: float = at(100.0, "ratio", "of the mean, a hundredth is all that the state changes"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    if env_observation_size is None:
        return _declared(config, score, trajectory, max_size) or NotMeasured(
            "the size of the observations is not recorded"
        )
    size = env_observation_size.finite
    if len(size) < min_points:
        return NotMeasured(f"{len(size)} windows of transitions are too few (needs {min_points})")
    offset = None if env_observation_offset is None else env_observation_offset.finite
    for curve, sign, limit, said in (
        (offset, 1, max_offset, "a component of the observation lies {typical} times its spread away from 0"),
        (size, 1, max_size, "a component of the observation has the size {typical}"),
        (size, -1, min_size, "the largest component of the observation has the size {typical}"),
    ):
        if curve is None or len(curve) < min_points:
            continue
        levels = [float(np.median(part.values)) for part in (curve.head(0.25), curve.tail(0.25))]
        if any(levels) and min(sign * (level - limit) for level in levels) > 0:
            return Finding(
                message=facts.tell(
                    said
                    + ": the network cannot use such observations; normalise them with running statistics, and save these "
                    "with the model",
                    typical=facts.median(curve),
                ),
                severity=Severity.WARNING,
                confidence=Confidence.MEDIUM,
                **seen_in(curve, "scale of the observations", level=limit),
                numbers={"typical": float(np.median(curve.values))},
            )
    return None


def _declared(config: Config, score: Series | None, trajectory: Trajectory | None, most: float) -> Finding | None:
    """A space whose bounds no layer is drawn for, where nothing normalises and the score has not risen."""
    spaces = [str(value) for key, value in config.raw.items() if key.rpartition(".")[2] == "observation_space"]
    bound = float(box["high"]) if spaces and (box := BOX.match(spaces[0])) else 0.0
    if not most < bound < UNBOUNDED or config.get("normalize_observation"):
        return None
    if score is None or trajectory is None or trajectory.learned:
        return None
    return Finding(
        message=facts.tell(
            "observations may be as large as {bound}, nothing normalises them, and the score has not risen ({late}): the "
            "network cannot use such observations; normalise them with running statistics, and save these with the model",
            bound=number(bound),
            late=facts.end(score, trajectory),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        **seen_in(score, "score"),
    )
