"""The start of a run: whether the log holds it, and what the policy scores before it has learned anything."""

import numpy as np

from firstbreak.engine.inputs import answer_parts
from firstbreak.model import NotMeasured, Series


def continued(curve: Series) -> bool:
    """Whether the log is the later part of a longer run: it begins at a larger step than it has steps.

    What was learned before is not in it, so that its first level says nothing of an untrained policy.
    """
    return len(curve) > 1 and bool(curve.steps[0] > np.ptp(curve.steps))


def lowest_first(evaluations: tuple[Series | None, ...]) -> Series:
    """The evaluation with the lowest first score."""
    return min((s.finite for s in evaluations if s is not None and len(s.finite)), key=lambda s: float(s.values[0]))


def starts(
    evaluations: tuple[Series | None, ...],
    reward: Series | None,
    components: dict[str, Series] | None,
    first_share: float,
    first_points: int,
) -> tuple[float, float, Series] | NotMeasured:
    """Score in training, lowest score in an evaluation, and the training curve; all are shares of right answers.

    The start is `first_share` of the training rewards, and `first_points` of them at least. The lowest evaluation counts,
    because a greedy evaluation scores more than training that samples, and that is no fault.
    """
    trained = next((s.finite for s in answer_parts(components).values() if len(s.finite)), reward)
    measured = [s.finite for s in evaluations if s is not None and len(s.finite)]
    if trained is None or not len(trained.finite) or not measured:
        return NotMeasured("needs a training reward and an evaluation of the same task")
    trained = trained.finite
    for curve in (trained, *measured):
        if np.min(curve.values) < 0 or np.max(curve.values) > 1:
            return NotMeasured(f"{curve.name} is no share of right answers, so the two cannot be compared")
    first = max(first_points, round(first_share * len(trained)))
    if len(trained) < 2 * first:
        return NotMeasured(f"{len(trained)} training rewards are too few")
    if max(curve.steps[0] for curve in measured) > trained.steps[first - 1]:
        return NotMeasured("the first evaluation comes after training has begun")
    return float(np.mean(trained.values[:first])), min(float(curve.values[0]) for curve in measured), trained
