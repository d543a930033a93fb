"""Completions shrink to almost nothing.

Looks for: A mean length that falls to a small part of its first level and stays there, while the score does not rise.
Where there is an independent evaluation, the evaluation is the score.
Why: An empty completion avoids negative reward, and an end-of-sequence token at once is the simplest policy of all.
False alarm: Answers that become more concise: shorter while the evaluation rises.
Fix:
- Check the reward of an empty completion: no completion may have a lower reward.
- Check the loss on the end-of-sequence token, and length penalties.
Experiment: Score an empty completion and a right one with the reward function: the right one must score much higher.
References: https://arxiv.org/abs/2209.13085
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.changes import settled
from firstbreak.engine.stats.direction import departure
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Finding, Series, Severity

EITHER_SCORE = True
FAMILIES = only(Policy.TEXT)


def detect(
    length_mean: Series,
    score: Series,
    truth: Series | None = None,
    *,
    max_ratio: float = at(0.3, "ratio", "of the late to the early length: a more concise answer keeps more"),
    min_points: int = at(10, "points", "with fewer lengths no trend is known"),
) -> Finding | None:
    length = enough(length_mean.finite, min_points, "lengths", "for a trend")
    since = departure(length, direction=-1)
    if since is None:
        return None
    early, late = median(length.between(-np.inf, since[0]).values), settled(length)
    if early <= 0 or late > max_ratio * early:
        return None
    judge = truth if truth is not None else score
    shape = shape_of(judge)
    if shape.kind in ("rising", "plateau", "oscillating"):
        return None
    return graded(
        Severity.CRITICAL if shape.lost else Severity.WARNING,
        "completions shrank from {early} to {late} tokens while {judge} {course}; check the reward of an empty "
        "completion",
        seen_since(length_mean, "mean length", *since, metric="length.mean"),
        early=facts.median(length.between(-np.inf, since[0])),
        late=facts.settled(length),
        judge=judge.name,
        course="fell" if shape.lost else "did not rise",
        confidence=Confidence.HIGH if shape.lost else Confidence.MEDIUM,
        numbers={"part": late / early},
    )
