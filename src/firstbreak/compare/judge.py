"""Is the difference between two arms real? The answer is an interval, or the number of runs that would be needed."""

from collections.abc import Sequence

import numpy as np

from firstbreak.compare import statistics
from firstbreak.compare.arms import Arm
from firstbreak.compare.statistics import Estimate, Scores
from firstbreak.engine.inputs import Inputs
from firstbreak.values import dataclass
from firstbreak.words import joined

PARTS = "reward.component."


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


def unlike(left: Arm, right: Arm) -> str:
    """Why a score of one side cannot be subtracted from one of the other; "" where it can, as far as is recorded."""
    one, other = joined(left.measured), joined(right.measured)
    if one and other and one != other:
        return f"{one} of {left.name} and {other} of {right.name} are different numbers"
    kinds = [{f.policy.value for m in arm.members if (f := Inputs(m.run).family).policy_known} for arm in (left, right)]
    names = [{n for m in arm.members for n in m.run.series if n.startswith(PARTS)} for arm in (left, right)]
    parts = [{name.removeprefix(PARTS).partition(".")[0] for name in side} for side in names]
    if all(kinds) and kinds[0] != kinds[1]:
        return f"{one} is of a policy that writes text on one side, of one that acts on the other"
    if all(parts) and parts[0] != parts[1] and one.startswith("reward."):
        return f"{one} has other parts on each side ({joined(sorted(parts[0] ^ parts[1]))})"
    if other_task(left, right):
        return f"{left.name} is trained on {joined(left.tasks)} and {right.name} on {joined(right.tasks)}"
    return "" if {*left.tasks} & {*right.tasks} else _other_log(left, right)


def other_task(left: Arm, right: Arm) -> bool:
    """Whether both sides record their tasks, and have none in common."""
    return bool(left.tasks and right.tasks) and not {*left.tasks} & {*right.tasks}


def _other_log(left: Arm, right: Arm) -> str:
    """Why numbers under one name may be of two kinds, where no task that both sides record says that they are of one."""
    raws, steps = ({what(arm) for arm in (left, right)} for what in (_raw, lambda arm: joined(arm.steps)))
    if len(steps) > 1 and "" not in steps:
        return f"{left.name} counts {joined(left.steps)} and {right.name} {joined(right.steps)}, and no common task is recorded"
    if len(raws) > 1 and "" not in raws:
        return f"{left.name} logs its score as {_raw(left)} and {right.name} as {_raw(right)}, and no common task is recorded"
    return ""


def _raw(arm: Arm) -> str:
    return joined(sorted({member.score.raw for member in arm.members if member.score is not None} - {""}))


def judge(left: Arm, right: Arm) -> Judgement | None:
    """The judgement on two arms, or None where they have no scored task in common, or `unlike` scores.

    One task keeps its own scale. Several tasks are scaled to [0, 1] first, by the lowest and highest score of any run.
    """
    if unlike(left, right):
        return None
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


def best(compared: Sequence[Arm]) -> tuple[Arm, Arm, Judgement] | None:
    """Of several sides the one with the highest score, and the next, judged against each other; None where not all compare."""
    one = len(compared) > 2 and all(len(arm.scores) == 1 for arm in compared)
    if not one or any(unlike(compared[0], arm) for arm in compared[1:]):
        return None
    *_, second, first = sorted(compared, key=lambda arm: middle(arm) or 0.0)
    judged = judge(second, first)
    return None if judged is None else (first, second, judged)


def middle(arm: Arm) -> float | None:
    """Interquartile mean of the scores of a side."""
    scores = [*arm.scores.values()]
    return float(statistics.iqm(np.concatenate(scores))) if scores else None
