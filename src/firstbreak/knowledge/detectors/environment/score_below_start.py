"""The score only falls below its first level.

Looks for: A score that falls from its first level by more than noise, does not come back, and was never above its first
level, also not in the middle of the run. The first evaluation may come when the policy has learned much already. So
there is no finding where the training reward rose at first.
Why: A policy that does not learn stays at its first level. To get below it, the optimiser has to work in the wrong
direction: a reward or advantage with the wrong sign, actions or labels that are swapped, or a learning rate so large
that the first updates destroyed the policy.
False alarm: Prompts or levels that get harder on a schedule. A score that is a shaped reward with a growing penalty. A
policy that was trained before, and explores first.
Fix:
- Score ten good and ten bad samples, made by hand, with the reward function: the good ones must score higher.
- Check the sign of the advantage: after one update on one batch, samples with a positive advantage must be more probable.
- Log the action that the policy chose beside the action that was executed.
- Divide {learning_rate} by ten, to rule out updates that are too large.
Experiment: Change the sign of the reward for a tenth of the run. If the score now rises, the direction was wrong. If
the score falls again, the updates are too large.
References: https://arxiv.org/abs/2101.00135 https://arxiv.org/abs/1709.06560
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_in
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.direction import recovers
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Finding, NotMeasured, Role, Series, Severity

ROLES = (Role.SCORE_FELL,)


def detect(
    score: Series,
    trajectory: Trajectory,
    reward_mean: Series | None = None,
    policy: Policy = Policy.CONTROL,
    method: Method | None = None,
    *,
    min_points: int = at(12, "points", "with fewer scores a decline cannot be separated from noise"),
    sigma_critical: float = at(6.0, "standard deviations", "a fall that noise does not make"),
    mostly: float = at(0.5, "share of the fall", "more is made up than is missing", "lab"),
    min_drop: float = at(0.01, "share", "of the score: less is the last digits of a constant"),
) -> Finding | NotMeasured | None:
    if trajectory.n < min_points:
        return NotMeasured(f"{trajectory.n} scores are too few to see a decline (needs {min_points})")
    if trajectory.kind != "declining" or (reward_mean is not None and shape_of(reward_mean).learned):
        return None
    if trajectory.drop < min_drop * max(abs(trajectory.start), abs(trajectory.end)):
        return None  # the last digits of a score that stands still
    if np.median(score.values[len(score) // 4 : -(len(score) // 4)]) >= trajectory.start:
        return None  # the score held its first level for most of the run, and was lost after that
    began = onset(score, direction=-1, kinds=("level", "ramp"))
    first, last = float(score.steps[0]), trajectory.end_step
    where = (began.step, began.interval) if began else (first, (first, last))
    back = recovers(score, trajectory.start, first)
    nearly = back and recovers(score, trajectory.start, first, mostly)
    certain = trajectory.drop_sigma >= sigma_critical and not back
    return graded(
        Severity.CRITICAL if certain else Severity.WARNING,
        "{score} fell from {start} to {end}{means} and {course}: the updates do harm; check {first}, then "
        "the learning rate",
        seen_in(score, "score, with its first level", *where, level=trajectory.start),
        score=score.name,
        start=facts.start(score, trajectory),
        end=facts.end(score, trajectory),
        means=facts.averaged(score),
        course=_above(score, trajectory),
        first=_first(policy, method),
        confidence=Confidence.HIGH if certain else Confidence.LOW if nearly else Confidence.MEDIUM,
        numbers={"drop": trajectory.drop, "drop_sigma": trajectory.drop_sigma},
    )


def _above(score: Series, course: Trajectory) -> str:
    """What is true of the scores above the start: there are none, or they are noise."""
    above = float(score.finite.values.max()) > course.start
    return "was never above its start" + (" by more than its noise" if above else "")


def _first(policy: Policy, method: Method | None) -> str:
    """What may have the wrong direction, in a run of this family."""
    if method is Method.PREFERENCE:
        return "whether chosen and rejected are swapped"
    signs = (
        "the signs of reward and advantage"
        if method in (Method.ACTOR_CRITIC, Method.GROUP_RELATIVE)
        else "the sign of the reward"
    )
    return f"{signs}, {'the reference answers' if policy is Policy.TEXT else 'the order of the actions'}"
