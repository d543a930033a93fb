"""Is the difference between two arms real? The answer is an interval, or the number of runs that would be needed."""

from collections.abc import Sequence

import numpy as np

from firstbreak.compare import statistics
from firstbreak.compare.arms import Arm
from firstbreak.compare.statistics import Estimate, Scores
from firstbreak.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """The comparison of two arms by their scores on the tasks of both."""

    tasks: tuple[str, ...]
    left: Estimate  #: interquartile mean
    right: Estimate
    difference: Estimate  #: right - left
    improvement: Estimate | None  #: probability that a run of the right arm beats one of the left; None of single runs
    runs: tuple[int, int]
    needed: int | None  #: runs on each side to show a difference of this size, where these runs are not enough
    visible: float | None  #: the smallest difference that this number of runs shows with 80 % probability

    @property
    def real(self) -> bool | None:
        """Whether the interval of the difference excludes 0. None without an interval."""
        interval = self.difference.interval
        return None if interval is None else not interval[0] <= 0 <= interval[1]


def judge(left: Arm, right: Arm) -> Judgement | None:
    """The judgement on two arms, or None where they have no scored task in common.

    One task keeps its own scale. Several tasks are scaled to [0, 1] first, by the lowest and highest score of any run.
    """
    tasks = tuple(task for task in left.scores if task in right.scores)
    one, other = ([arm.scores[task] for task in tasks] for arm in (left, right))
    if not tasks and len(left.scores) == len(right.scores) == 1 and "" in (*left.scores, *right.scores):
        tasks = tuple(filter(None, (*left.scores, *right.scores)))  # one side does not say its task
        one, other = ([*arm.scores.values()] for arm in (left, right))
    if not tasks:
        return None
    if len(tasks) > 1:
        one, other = _normalised(one, other)
    few = min(map(len, [*one, *other])) < 2
    difference = statistics.difference(one, other)
    real = difference.interval is not None and not difference.interval[0] <= 0 <= difference.interval[1]
    return Judgement(
        tasks=tasks,
        left=statistics.estimate(one),
        right=statistics.estimate(other),
        difference=difference,
        improvement=None if few else statistics.probability_of_improvement(one, other),
        runs=(sum(map(len, one)), sum(map(len, other))),
        needed=None if few or real else statistics.runs_needed(one, other),
        visible=None if few else statistics.smallest_visible(one, other),
    )


def _normalised(one: Scores, other: Scores) -> tuple[list[np.ndarray], list[np.ndarray]]:
    pairs = [_unit(np.concatenate(pair), pair) for pair in zip(one, other, strict=True)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _unit(both: np.ndarray, pair: Sequence[np.ndarray]) -> list[np.ndarray]:
    low, width = float(both.min()), float(np.ptp(both)) or 1.0
    return [(scores - low) / width for scores in pair]
