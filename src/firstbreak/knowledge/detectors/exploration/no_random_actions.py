"""No action is ever random, or random actions are over before anything was tried.

Looks for: The share of random actions (epsilon) is 0 from the first value to the last one; or it is at its floor, at
most `floor`, in the first row already, within the first `early` of the run. In a run that is counted in episodes: it is
multiplied by its factor (`epsilon_decay`) `often` times an episode or more, so that it is at its floor within the first
`soon` of the episodes. Methods with a deterministic policy (TD3,
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

import re

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, critical, enough, graded, seen_in, seen_since, warning
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Run, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number

ROLES = (Role.RELATION,)
DETERMINISTIC = frozenset({"td3", "ddpg"})
SOON = 0.2  #: of the planned steps (convention)
FAR = 0.3  #: of the way from random actions to a solved task: less is no success
FACTOR = pattern(r"(?:eps(?:ilon)?|exploration)_?(?:decay|factor)(?:_rate)?", re.IGNORECASE)
EPISODES = pattern(r"(?:n|num|max|total)?_?episodes", re.IGNORECASE)
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
    often: float = at(5.0, "times an episode", "A factor for each episode is applied once."),
    soon: float = at(0.1, "share", "Of the episodes."),
) -> Finding | NotMeasured | None:
    if epsilon is None:
        if run.algorithm not in DETERMINISTIC or score is None or not len(score.finite):
            return NotMeasured("no share of random actions is logged")
        return _without_noise(config, score.finite, trajectory)
    curve = enough(epsilon.finite, min_points, "values of epsilon", "to see a schedule")
    highest, first = float(curve.values.max()), float(curve.steps[0])
    at_floor = highest <= floor and float(np.ptp(curve.values)) < 0.01 and first <= early * float(curve.steps[-1])
    if highest and not at_floor:
        return _decayed_each_step(run, curve, often, soon)
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


def _decayed_each_step(run: Run, curve: Series, often: float, soon: float) -> Finding | None:
    """A factor that is applied many times an episode, in a run that is counted in episodes."""
    options = {
        name.rpartition(".")[2]: value for name, value in run.config.raw.items() if isinstance(value, int | float)
    }
    factor = next((value for name, value in options.items() if FACTOR.fullmatch(name) and 0 < value < 1), None)
    counted = run.series.get("progress.episodes")
    planned = next((value for name, value in options.items() if EPISODES.fullmatch(name)), None)
    if factor is None or not planned or counted is None or len(counted) != len(curve):
        return None
    floor, played = 1.5 * float(curve.values.min()), counted.values
    over = int(np.argmax(curve.values <= floor))
    times = np.log(curve.values[:over]) / np.log(factor)
    if not over or times[-1] < often * played[over - 1] or played[over] > soon * planned:
        return None
    return warning(
        "the share of random actions is {value} after episode {episode} of {planned}: its factor of {factor} is applied {times} "
        "times an episode; apply it once an episode",
        seen_since(curve, "share of random actions", float(curve.steps[over])),
        value=facts.first(curve.between(float(curve.steps[over]))),
        episode=number(float(played[over])),
        planned=number(float(planned)),
        factor=number(factor),
        times=number(float(times[-1] / played[over - 1])),
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
