"""The policy leaves its reference, and the score does not rise.

Looks for: The trend of the KL divergence from the reference beside the shape of the score, from the second quarter of
the run on. A divergence that grows while the score falls is destructive. A divergence that grows while the score is
flat brings no gain any more. A divergence that grows while the score rises is learning, and a divergence that stands
still is convergence. On a plateau, a divergence that grows less than `sure_growth`-fold is doubtful where the noise can
hide that the score still gains. A divergence below `min_divergence` is too small to matter. With fewer than
`min_points` evaluations, the mean reward of every step has to agree that nothing is gained.
Why: Every gain costs some distance from the reference. If there is no gain, each step only makes the model harder to
recover, and the best checkpoint is already saved.
False alarm: The score is at its ceiling, and the divergence grows slowly. The score is so noisy that its rise cannot be
seen.
Fix:
- Go back to the best checkpoint by evaluation.
- Raise {kl_coef} or lower {learning_rate}.
Experiment: Continue from the best checkpoint for a tenth of the run with {learning_rate} divided by ten: if the score
still does not rise, the run has learned what these data can give.
References: https://arxiv.org/abs/2210.10760
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, graded, seen_as, warning
from firstbreak.engine.families import Method, Policy, without
from firstbreak.engine.stats.agreement import GOES_ON, together, won_late
from firstbreak.engine.stats.changes import settled
from firstbreak.engine.stats.direction import LIKELY, SURE, departure, fall_from_best, fell_since, rises
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import IMMATERIAL, Trajectory
from firstbreak.model import Confidence, Config, Expected, Finding, NotMeasured, Role, Series, Severity
from firstbreak.words import quoted

ROLES = (Role.DRIFT_UNREWARDED,)

FAMILIES = without(Method.SUPERVISED)


def detect(
    divergence: Series,
    score: Series,
    trajectory: Trajectory,
    config: Config,
    solved: bool | None = None,
    policy: Policy = Policy.TEXT,
    reward_mean: Series | None = None,
    eval_score: Series | None = None,
    training_score: Series | None = None,
    score_error: Series | None = None,
    second_score: Series | None = None,
    *,
    top: float = at(0.85, "share", "Of a score between 0 and 1 that has settled so high, little is left to gain."),
    growth_warning: float = at(1.5, "ratio", "Below half as much again, the divergence stands still."),
    sure_growth: float = at(2.33, "ratio", "Growth with the steps is 7/3; noise may hide a gain."),
    min_divergence: float = at(0.02, "nats per token", "Below this a policy has not left its reference.", "lab"),
    blow_up: float = at(10.0, "ratio", "Of the second quarter: one that grows with the steps grows 2.3-fold."),
    blown: float = at(0.3, "nats per token", "Far from the reference, whatever the score gains."),
    material: float = at(0.15, "share", "Of the gain so far: a score that may still win more has not stopped."),
    min_points: int = at(20, "points", "Fewer points do not show two trends."),
    min_evaluations: int = at(8, "points", "Enough where the mean reward of every step agrees."),
) -> Finding | Expected | NotMeasured | None:
    kl, points = divergence.finite, score.finite
    if len(kl) and not kl.values.any() and config.number("kl_coef") == 0 and "kl_coef" not in config.defaulted:
        return Expected(
            f"{quoted(divergence.raw or divergence.name)} is 0 because the penalty is switched off: there is no comparison "
            "with a reference"
        )
    few = len(points) < min_points
    if len(kl) < min_points or len(points) < (min_points if reward_mean is None else min_evaluations):
        return NotMeasured(f"{min(len(kl), len(points))} points are too few to see two trends (needs {min_points})")
    early, late = (median(part.values) for part in (kl.head(0.5).tail(0.5), kl.tail(0.25)))
    drawn = {"KL divergence from the reference": divergence, "score": score}
    if not rises(kl) or late < growth_warning * early or late < min_divergence:
        return None
    grown = facts.tell(
        "from {early} to {late}", early=facts.median(kl.head(0.5).tail(0.5)), late=facts.median(kl.tail(0.25))
    )
    left, began = departure(kl) or (None, None)
    fell = left is not None and fell_since(left, eval_score, training_score, errors=SURE)
    if trajectory.lost or (fell and trajectory.drop_fraction > IMMATERIAL and not solved):
        since, interval = fall_from_best(points, trajectory.best_step)
        return critical(
            "the KL divergence grew {grown} while the score fell from {best} to {end}{means}: the better policy is that of "
            "{step}",
            seen_as(divergence.name, since, interval, drawn),
            grown=grown,
            best=facts.best(score, trajectory),
            end=facts.end(score, trajectory),
            means=facts.but_for(score, trajectory),
            step=facts.at(score, trajectory.best_step),
            numbers={"cell": "rising/declining"},
        )
    if settled(kl) >= max(blow_up * early, blown):
        return _blown_up(divergence, kl, drawn)
    if trajectory.kind not in ("flat", "plateau") or solved:
        return None
    paid = trajectory.kind == "plateau"  # what was gained before
    at_top = bool(((points.values >= 0) & (points.values <= 1)).all()) and median(points.tail(0.25).values) >= top
    both_stopped = paid and second_score is not None and not _goes_on(second_score)
    if not both_stopped:
        curves = (points, reward_mean.finite) if few and reward_mean is not None else (points,)
        if few and reward_mean is None:
            return None
        if any(rises(part) for curve in curves for part in _where_a_rise_counts(curve, trajectory, left)):
            return None
    doubtful = paid and late < sure_growth * early and _may_gain(points, score_error, second_score, material)
    samples = "completions" if policy is Policy.TEXT else "episodes"
    return graded(
        Severity.NOTICE if paid and at_top else Severity.WARNING,
        "the KL divergence grew {grown} without a gain{hidden}: the score was {before} at {when} and is {end} now{means}; check "
        "what changes in the {samples}, and lower the learning rate or stop",
        seen_as(divergence.name, left, began, drawn),
        hidden=" that the noise shows" if doubtful else "" if paid else " larger than its noise",
        grown=grown,
        before=facts.best(score, trajectory) if paid else facts.start(score, trajectory),
        when=facts.at(score, trajectory.best_step) if paid else "first",
        end=facts.end(score, trajectory),
        means=facts.but_for(score, trajectory),
        samples=samples,
        confidence=Confidence.LOW if doubtful else Confidence.MEDIUM,
        numbers={"cell": "rising/flat"},
    )


def _blown_up(divergence: Series, kl: Series, drawn: dict[str, Series]) -> Finding:
    """A divergence that grows ever faster: no gain of a score is worth tenfold the distance."""
    step, interval = departure(kl) or (float(kl.steps[0]), (float(kl.steps[0]), float(kl.steps[-1])))
    return warning(
        "the KL divergence grew ever faster, from {early} to {late}: the updates are too large, or the penalty too weak; "
        "lower the learning rate, or raise the coefficient of the penalty",
        seen_as(divergence.name, step, interval, drawn),
        early=facts.median(kl.head(0.5).tail(0.5)),
        late=facts.settled(kl),
        numbers={"cell": "blown up"},
    )


def _goes_on(reward: Series) -> bool:
    share, error = won_late(reward)
    return share - LIKELY * error > GOES_ON


def _may_gain(score: Series, error: Series | None, reward: Series | None, material: float) -> bool:
    """Whether noise may hide that the score won this share of its gain in the second half, where it seems to have stopped."""
    won = won_late(score, None if error is None else error.values)
    if reward is not None:
        won = together(won, won_late(reward))
    return won[0] + LIKELY * won[1] >= material


def _where_a_rise_counts(score: Series, trajectory: Trajectory, since: float | None) -> tuple[Series, ...]:
    """Where a rise of the score justifies the divergence: where that grew, and for a slow learner the whole run."""
    late, long = score.tail(0.5), score.tail(0.75)
    if since is not None and since > long.steps[0]:  # a rise before it paid for nothing
        long = score.between(min(since, float(late.steps[0])))
    grown = (late, long)
    return (*grown, score) if trajectory.kind == "flat" else grown
