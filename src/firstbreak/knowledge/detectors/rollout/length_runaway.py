"""Completions get longer and longer, and the score does not rise.

Looks for: A mean length that grows by a large factor and by more than noise, while the score does not rise. Where there
is an independent evaluation, the evaluation is the score: it does not rise, or stops following the training reward
while completions grow.
Why: Length is easy to change for a policy. A policy that writes more for the same result follows a preference for
length in the reward, or a loss that punishes long wrong answers less for each token. Such a policy reaches the length
limit next.
False alarm: Length that grows while an independent evaluation rises: longer reasoning gives better answers.
Fix:
- Read short and long completions of the same prompt, and compare their rewards.
- Remove the preference for length from the reward; use a token-level loss ({loss_type}).
- Add a soft length penalty before {max_new_tokens}.
Experiment: Score the same completions again with the last third cut off. If the reward falls although the answers are
still right, the reward function rewards length.
References: https://arxiv.org/abs/2310.03716 https://arxiv.org/abs/2503.20783
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.agreement import comparable, parting
from firstbreak.engine.stats.changes import settled
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Finding, Series, Severity

EITHER_SCORE = True
FAMILIES = only(Policy.TEXT)


def detect(
    length_mean: Series,
    score: Series,
    truth: Series | None = None,
    reward_mean: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    growth_warning: float = at(1.5, "ratio", "of the late to the early length: prompts change lengths by less"),
    min_points: int = at(20, "points", "with fewer lengths no trend is known"),
) -> Finding | None:
    length = enough(length_mean.finite, min_points, "lengths", "for a trend")
    since = departure(length) if rises(length) else None
    if since is None:
        return None
    early, late = median(length.between(-np.inf, since[0]).values), settled(length)
    if early <= 0 or late < growth_warning * early:
        return None
    judge = truth if truth is not None else score
    shape = trajectory if judge is score and trajectory is not None else shape_of(judge)
    parted = None
    if shape.kind not in ("flat", "too_short") and not shape.lost:
        parted = parting(judge, reward_mean) if reward_mean is not None and comparable(judge, reward_mean) else None
        if parted is None or not rises(length.between(parted.step)):
            return None
    return graded(
        Severity.CRITICAL if shape.lost else Severity.WARNING,
        "completions grew from {early} to {late} tokens while {judge} {course}; compare the rewards of short and long "
        "completions of one prompt",
        seen_since(length_mean, "mean length", *since, metric="length.mean", beside={"score": judge}),
        early=facts.median(length.between(-np.inf, since[0])),
        late=facts.settled(length),
        judge=judge.name,
        course="fell"
        if shape.lost
        else facts.tell("stopped following the reward at {step}", step=facts.at(judge, parted.step))
        if parted is not None
        else "did not rise",
        confidence=Confidence.LOW
        if shape.kind == "too_short"
        else Confidence.HIGH
        if shape.lost
        else Confidence.MEDIUM,
        numbers={"growth": late / early},
    )
