"""A large share of random actions stays to the end, or comes back.

Looks for: The share of random actions (epsilon) lies above `high` and does not change any more in the last fifth of the
log, or it rises by more than `rise` and stays there. Or it begins at `rise` or more in a run that goes on from a
trained model: the number of updates is larger, by `carried` times, than the steps of this run can have made.
Why: The training return is then that of a policy that is mostly random, whatever was learned, and the replay buffer
fills with its transitions.
False alarm: A share that still falls when the log ends is not reported. Data that are collected at random on purpose.
Fix:
- Let epsilon fall to 0.05 or less, and check the number of steps over which it falls ({exploration_fraction},
  {exploration_final}).
- Where it rises again, look for a counter that starts anew: a resumed run, or a schedule in other units than the log.
Experiment: Evaluate the same weights without random actions: a much higher score says that the policy is right and its
actions are not.
References: https://arxiv.org/abs/1312.5602
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, from_point, seen_since, warning
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.direction import fell_since
from firstbreak.model import Finding, Interval, Message, Role, Series
from firstbreak.words import number

ROLES = (Role.RELATION,)

LATE = 0.2  #: of the points
RESTARTS = 2  #: times that a schedule goes back up: once may be a resumed run


def detect(
    epsilon: Series,
    training_score: Series | None = None,
    progress_updates: Series | None = None,
    *,
    high: float = at(0.4, "share", "Healthy DQN runs end below 0.11.", "lab"),
    rise: float = at(0.2, "share", "No schedule rises again; restarts rise less."),
    carried: float = at(10.0, "ratio", "The first updates of a run come late, never early."),
    min_points: int = at(8, "points", "Fewer values show no schedule."),
) -> Finding | None:
    curve = enough(epsilon.finite, min_points, "values of epsilon", "to see a schedule")
    again = np.flatnonzero(np.diff(curve.values) > rise) + 1
    if len(again) >= RESTARTS:
        step = float(curve.steps[again[0]])
        return _finding(
            curve,
            facts.tell(
                "the share of random actions goes back up {times} times, first at {step}, to {highest}: the schedule begins "
                "again; let it run over all steps (each call of `learn` starts it)",
                times=number(len(again)),
                step=facts.at(curve, step),
                highest=facts.highest(curve.between(step)),
            ),
            from_point(curve, again[0]),
        )
    risen = curve.values - np.minimum.accumulate(curve.values) > rise
    first = for_good(risen, 1.0)
    if first:
        step = float(curve.steps[first])
        lost = fell_since(step, training_score)
        return _finding(
            curve,
            facts.tell(
                "the share of random actions rose from {before} to {after} at {step} and stayed there{lost}: find what set the "
                "schedule back",
                before=facts.lowest(curve.between(float(curve.steps[0]), float(curve.steps[first - 1]))),
                after=facts.last(curve),
                step=facts.at(curve, step),
                lost=", and the training reward fell" if lost else "",
            ),
            from_point(curve, first),
        )
    if (before := _updates_before(progress_updates, carried)) and curve.values[0] >= rise:
        start = float(curve.steps[0])
        return _finding(
            curve,
            facts.tell(
                "the run goes on from a model with {before} updates, and the share of random actions begins anew at {share}: "
                "load the replay buffer too, and continue the count of steps (`reset_num_timesteps=False` in `learn`)",
                before=number(before),
                share=facts.first(curve),
            ),
            (start, (start, start)),
        )
    late = curve.tail(LATE).values
    if late.min() <= high or late[0] > late[-1]:  # low, or still falling
        return None
    start = float(curve.steps[0])
    return _finding(
        curve,
        facts.tell(
            "{share} of the actions are still random at the end, and their share does not fall any more: lower the final "
            "epsilon, or let it fall sooner",
            share=facts.last(curve),
        ),
        (start, (start, start)),
    )


def _updates_before(updates: Series | None, carried: float) -> float:
    """Updates that were made before the first step of this run, judged by how many each step makes; 0 where there are none."""
    if updates is None or len(updates.finite) < 4:
        return 0.0
    counts = updates.finite
    for_each = (counts.values[-1] - counts.values[0]) / (counts.steps[-1] - counts.steps[0])
    here = max(float(for_each * counts.steps[0]), 1.0)
    return float(counts.values[0] - here) if for_each > 0 and counts.values[0] > carried * here else 0.0


def _finding(curve: Series, said: Message, onset: tuple[float, Interval]) -> Finding:
    since, interval = onset
    return warning(
        said, seen_since(curve, "share of random actions", since, interval), numbers={"last": float(curve.values[-1])}
    )
