"""The training reward rises while the independent evaluation falls.

Looks for: Trends of the training reward and of an evaluation that is a different number (accuracy, success, another
environment), over the steps that both cover. Reward up with evaluation down is critical, where the last `min_low`
evaluations or more are low; one of several evaluations counts where it is surely lost. Reward clearly up with evaluation
flat is a warning, and so is an evaluation in the same unit that followed the reward first and gains at most a third as much
from some step on. Where both have the same unit, an evaluation is called flat only if its noise does not hide
`hidden_share` of the reward's rise.
Why: The two curves should measure the same ability. When they separate, the policy has found something that the reward
rewards and the evaluation does not: reward hacking, over-optimisation, or a reward that measures something else.
False alarm: The evaluation uses another protocol (temperature, length limit, prompt template) than training. The
evaluation has so few points or samples that its trend is noise. Format is learned first and answers later. An
evaluation that starts at its highest value. A return that is not lower in the evaluation than in training is not
reported. While fewer and fewer actions are random (epsilon), the training return rises by itself: what comes after that
is compared, where it is long enough.
Fix:
- First read the samples with the highest reward of the latest checkpoint.
- Log the reward components separately, and see which one rises.
- Go back to the checkpoint with the best evaluation; raise {kl_coef}.
Experiment: Score 50 samples of the checkpoint with the best evaluation and 50 of the latest one by hand, without
knowing which is which. If the latest is not better, the reward is wrong.
References: https://arxiv.org/abs/2210.10760
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, graded
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.agreement import Parting, comparable, fall, informed, parting, shares
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.points import late_median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.words import percent

CATCHES_UP = (
    0.2  #: of the reward's rise: samples that pass a greedy evaluation by no more only caught up with it (convention)
)
ONE_SIDED = 1.64  #: standard errors: 95 % of a normal distribution lie below

ROLES = (Role.EVALUATION_APART,)


def detect(
    reward_mean: Series,
    truth: Series,
    solved: bool | None = None,
    policy: Policy = Policy.CONTROL,
    epsilon: Series | None = None,
    score: Series | None = None,
    trajectory: Trajectory | None = None,
    independent: dict[str, Series] | None = None,
    *,
    min_signal_to_noise: float = at(2.0, "ratio", "Beside a flat evaluation, a smaller rise says little."),
    hidden_share: float = at(0.5, "share", "Of the reward's rise: one that may have won so much is not flat."),
    top: float = at(0.9, "share", "Of right answers: an evaluation that starts here has no room."),
    min_low: int = at(3, "evaluations", "One or two low evaluations at the end can be chance."),
    near_lowest: float = at(0.05, "share", "Of random actions above their lowest share: the schedule is over."),
    min_points: int = at(8, "points", "Fewer rewards or evaluations show no trend."),
) -> Finding | NotApplicable | NotMeasured | None:
    settled = _settled(epsilon.finite, near_lowest) if epsilon is not None and len(epsilon.finite) else -np.inf
    for other in (independent or {}).values():  # one of several evaluations, where it is surely lost
        reward, judged, _ = _together(reward_mean, other, settled, min_points)
        if (
            other.name != truth.name
            and min(len(reward), len(judged)) >= min_points
            and _is_lost(judged, reward, min_low)
        ):
            truth = other
            break
    reward, judged, start = _together(reward_mean, truth, settled, min_points)
    lost = trajectory is not None and trajectory.lost and score is not None and score.name == truth.name
    if len(reward) < min_points or len(judged) < (min_low + 1 if lost else min_points):
        return NotMeasured(f"{len(judged)} evaluations are too few for a trend (needs {min_points})")
    if len(reward) == len(judged) and np.allclose(reward.values, judged.values):
        return NotApplicable("the evaluation is the training reward under another name")
    up, found = trend(reward), fall(judged, reward)
    shape = informed(shape_of(judged), found)
    in_one_unit = comparable(judged, reward)
    unmoved = shape.kind == "flat" or (shape.kind == "oscillating" and in_one_unit)
    judged_whole = trajectory is not None and score is not None and score.name == truth.name  # with its known error
    unmoved = unmoved and not (judged_whole and trajectory and trajectory.learned)
    fell = found is not None or (shape.lost and not (judged_whole and trajectory and not trajectory.lost))
    parted = parting(judged, reward) if in_one_unit and not fell else None
    if not rises(reward) or shape_of(reward).lost or not (fell or parted or unmoved):
        return None
    if (
        judged.name == "eval.reward"
        and policy is Policy.CONTROL
        and late_median(judged, 0.2) >= late_median(reward, 0.2)
    ):
        return None
    if solved and not fell:
        return None  # an evaluation at its highest value cannot follow
    caught_up = late_median(judged, 0.2) + CATCHES_UP * max(up.change, 0.0)
    if not fell and shares(judged, reward) and late_median(reward, 0.2) <= caught_up:
        return None  # samples of training only come near to what the evaluation has shown from the start
    if not (fell or parted) and (
        up.signal_to_noise < min_signal_to_noise
        or (in_one_unit and _may_have_risen(judged, reward, up.change, hidden_share, top))
    ):
        return None
    sure = _is_lost(judged, reward, min_low)
    falling = departure(judged.between(shape.best_step), direction=-1) if fell else None
    since = falling[0] if falling else shape.best_step if fell else parted.step if parted else start
    look = "read the completions" if policy is Policy.TEXT else "watch the episodes"
    return graded(
        Severity.CRITICAL if sure else Severity.WARNING,
        "the reward rose by {change} while {judged} {course}: the reward measures something else than the evaluation, or "
        "is a proxy that the policy games; first {look} with the highest reward, and see which component of the reward "
        "rises",
        Seen(
            metric=judged.name,
            onset=since,
            interval=falling[1] if falling else None,
            evidence=(
                Evidence(text="training reward", series=reward_mean),
                Evidence(text="evaluation", series=truth, since=since),
            ),
        ),
        change=facts.change(reward),
        judged=judged.name,
        course=_course(judged, shape, fell, parted),
        look=look,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM if shape.lost or parted else Confidence.LOW,
    )


def _is_lost(judged: Series, reward: Series, min_low: int) -> bool:
    """Whether an evaluation fell for good, by so many evaluations or more, while the reward rose."""
    shape = informed(shape_of(judged), fall(judged, reward))
    low = int(np.sum(judged.between(shape.best_step).values < (shape.best + shape.end) / 2))
    return shape.lost and low >= min_low and rises(reward)


def _together(reward: Series, truth: Series, settled: float, min_points: int) -> tuple[Series, Series, float]:
    """Both curves where both are logged, and from which step on; from the `settled` one on where enough points are left."""
    start, end = max(reward.steps[0], truth.steps[0]), min(reward.steps[-1], truth.steps[-1])
    if min(len(curve.finite.between(settled, end)) for curve in (reward, truth)) >= min_points:
        start = max(start, settled)
    earlier = truth.finite.between(-np.inf, start)
    # an evaluation before training belongs to its start
    first = float(earlier.steps[-1]) if len(earlier) else float(start)
    return reward.finite.between(start, end), truth.finite.between(first, end), float(start)


def _settled(epsilon: Series, near: float) -> float:
    """The first step at which hardly more actions are random than at any time."""
    return float(epsilon.steps[int(np.argmax(epsilon.values <= epsilon.values.min() + near))])


def _course(judged: Series, shape: Trajectory, fell: bool, parted: Parting | None) -> str:
    """What the evaluation did, in words."""
    if fell:
        means = facts.but_for(judged, shape)
        best, end = facts.best(judged, shape), facts.end(judged, shape)
        return facts.tell("fell from {best} to {end}{means}", best=best, end=end, means=means)
    if parted is not None:
        return facts.tell(
            "gained {share} since {step} ({end} at the end)",
            share=f"at most {percent(parted.most)} as much" if parted.most > 0 else "nothing",
            step=facts.at(judged, parted.step),
            end=facts.end(judged, shape),
        )
    return facts.tell("does not improve ({end} at the end)", end=facts.end(judged, shape))


def _may_have_risen(judged: Series, reward: Series, rise: float, hidden_share: float, top: float) -> bool:
    """Whether noise, or a start at the top, can hide that the evaluation won its part of the reward's rise."""
    third = max(1, len(judged) // 3)
    first, last = judged.values[:third], judged.values[-third:]
    if shares(judged, reward) and float(np.median(first)) >= top:
        return True
    residual = judged.values - np.polyval(np.polyfit(judged.steps, judged.values, 1), judged.steps)
    error = float(np.std(residual)) * float(np.sqrt(2 / third))
    return float(np.mean(last) - np.mean(first)) + ONE_SIDED * error >= hidden_share * rise
