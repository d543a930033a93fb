"""No action is ever random, or hardly one from the first value on.

Looks for: The share of random actions (epsilon) is 0 from the first value to the last one; or it is at its floor, at
most `floor`, in the first row already, within the first `early` of the run. Methods with a deterministic policy (TD3,
DDPG) have action noise instead: the check reports a configuration that says there is none.
Why: A method that learns the value of actions tries only what it takes for the best one, and never learns what the
others are worth.
False alarm: Networks with noise of their own (NoisyNet), and a run that was resumed after its exploration. Where the
score rises clearly, it is only a notice.
Fix:
- Let epsilon begin at 1, and fall to 0.05 over the first tenth of the run or more ({exploration_initial},
  {exploration_fraction}).
Experiment: The same run with an epsilon of 0.1: if the score rises sooner, exploration was missing.
References: https://arxiv.org/abs/1312.5602 https://arxiv.org/abs/1706.10295
"""

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, critical, enough, graded, seen_in, seen_since
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Run, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)
DETERMINISTIC = frozenset({"td3", "ddpg"})
SOON = 0.2  #: of the planned steps (convention)
FAR = 0.3  #: of the way from random actions to a solved task: less is no success
NO_NOISE = (None, "", "none", "null", 0, 0.0)


def detect(
    run: Run,
    config: Config,
    epsilon: Series | None = None,
    score: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    min_points: int = at(8, "points", "Fewer values show no schedule."),
    floor: float = at(0.1, "share", "Usual final values are 0.01 to 0.1."),
    early: float = at(0.05, "share", "Of the run: usual schedules take a tenth of it, and more."),
) -> Finding | NotMeasured | None:
    if epsilon is None:
        if run.algorithm not in DETERMINISTIC or score is None or not len(score.finite):
            return NotMeasured("no share of random actions is logged")
        return _without_noise(config, score.finite, trajectory)
    curve = enough(epsilon.finite, min_points, "values of epsilon", "to see a schedule")
    highest, first = float(curve.values.max()), float(curve.steps[0])
    at_floor = highest <= floor and float(np.ptp(curve.values)) < 0.01 and first <= early * float(curve.steps[-1])
    if highest and not at_floor:
        return None
    learned = trajectory is not None and trajectory.learned
    planned = (config.number("exploration_fraction") or 0.0) * (config.number("total_steps") or 0.0)
    if not learned and curve.axis == "env_steps" and 0 < first < SOON * planned:
        return critical(
            "the share of random actions is {highest} at most from {first} on, and the configuration plans it to fall until "
            "{planned}: the schedule ran out early, as with learn() in pieces; let the schedule span the whole training",
            seen_since(curve, "share of random actions", first),
            highest=facts.highest(curve),
            first=facts.at(curve, first),
            planned=number(planned),
        )
    return graded(
        Severity.NOTICE if learned else Severity.WARNING,
        "the share of random actions is {highest} at most from {first} on: the policy only does what it takes for the best; "
        "let epsilon begin at 1 and fall",
        seen_since(curve, "share of random actions", first),
        highest=facts.highest(curve),
        first=facts.at(curve, first),
        confidence=Confidence.MEDIUM if learned else Confidence.HIGH,
    )


def _without_noise(config: Config, score: Series, trajectory: Trajectory | None) -> Finding | NotMeasured | None:
    """A deterministic policy whose configuration names the action noise and sets it to nothing."""
    said = [value for name, value in config.raw.items() if name.rpartition(".")[2] == "action_noise"]
    if not said:
        return NotMeasured("the configuration does not say whether actions have noise")
    quiet = (value.lower() if isinstance(value, str) else value for value in said)
    if not all(isinstance(value, str | int | float | None) and value in NO_NOISE for value in quiet):
        return None
    task, first = environments.known(config), float(score.steps[0])
    near = task is not None and float(score.tail(0.2).values.mean()) < task.random + FAR * (task.solved - task.random)
    learned = trajectory is not None and trajectory.learned and not near
    return graded(
        Severity.NOTICE if learned else Severity.WARNING,
        "the policy is deterministic, and its actions have no noise ({option}), so it tries nothing new: add noise of a "
        "tenth to a third of the action range",
        seen_in(score, "score", first),
        option=config.option("action_noise"),
        confidence=Confidence.MEDIUM if learned else Confidence.HIGH,
    )
