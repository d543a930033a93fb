"""The score was better before than it is now.

Looks for: A score that rose (or began high), and then fell beyond its noise and stayed down: how much of the gain is
lost, where the best level was, and since when the score falls. If a reward is flat within its noise, the share of right
answers is used instead, where it is logged. Evaluation and training reward are judged each by itself, and then
together: what both lost is critical from `drop_critical_together` of the gain on, and a fall that is not certain is a
warning of low confidence. What only the training reward lost is a warning, and critical only where it collapsed; of a
policy that acts in an environment and is not evaluated, less than `drop_critical` of the gain is a notice, because
sound returns swing as much. If the evaluation shows that the policy kept its skill, a loss of the training reward is a
warning from `drop_critical` of the gain and `min_drop_alone` of the level on. An evaluation that never rose, or is too
noisy to tell, does not show that.
Why: If the model was better earlier, it is harmful to go on: the best checkpoint is already saved, and every step leads
away from it.
False alarm: A dip that recovers: with fewer than `min_points_critical` points a dip looks like a loss, so a loss is
then a warning at most. An evaluation of few episodes or prompts. A curriculum or a harder stage that begins at that
step. A loss of less than `min_drop` of the size of the score itself is too small to matter, however clear it is. For a
likelihood the limit is `min_drop_likelihood`, because every second pass over supervised data costs a little of the
held-out loss. If the log begins in mid-run, the gain is not in it, and the loss is a share of the level instead. Sound
runs lose and regain less than `drop_critical` of the gain between two evaluations.
Fix:
- Stop, and go back to the checkpoint nearest the best evaluation.
- Lower {learning_rate}, or decay it to 0 over the run. For PPO and GRPO also lower {epochs_per_batch} or set a target for
  the KL divergence.
- For off-policy methods: check the critic first (value loss, target network, size of the replay buffer).
Experiment: Continue from the best checkpoint with {learning_rate} divided by ten for a tenth of the run: if the score
holds, the steps were probably too large.
References: https://arxiv.org/abs/1709.06560
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.agreement import Fall, denies
from firstbreak.engine.stats.direction import came_back, fall_from_best, recovers
from firstbreak.engine.stats.shape import MIN_POINTS, Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.knowledge.detectors._start import continued
from firstbreak.model import Confidence, Finding, NotMeasured, Role, Run, Series, Severity
from firstbreak.words import percent

EITHER_SCORE = True
ROLES = (Role.SCORE_FELL,)


def detect(
    score: Series,
    trajectory: Trajectory,
    run: Run,
    supervised: bool = False,
    reward_accuracy: Series | None = None,
    eval_score: Series | None = None,
    fall: Fall | None = None,
    policy: Policy = Policy.TEXT,
    reward_mean: Series | None = None,
    *,
    drop_critical: float = at(0.4, "share of the gain", "No fault in the lab lost less than 62 %.", "lab"),
    drop_critical_together: float = at(0.25, "share of the gain", "Lost by both scores: no healthy run.", "lab"),
    min_points_critical: int = at(10, "points", "In healthy runs five to nine fall and come back.", "lab"),
    mostly: float = at(0.5, "share of the loss", "More is made up than is missing.", "lab"),
    min_drop: float = at(0.02, "share of the score", "From -20.98 to -20.99 is no loss.", "lab"),
    min_drop_critical: float = at(0.1, "share of the score", "A healthy run lost 4 % near its maximum.", "lab"),
    min_drop_alone: float = at(0.2, "share of the score", "Near their maximum healthy runs lose 13 %.", "lab"),
    min_drop_likelihood: float = at(0.05, "share of the loss", "Each second pass costs a little."),
) -> Finding | NotMeasured | None:
    if trajectory.kind == "too_short":
        return NotMeasured(f"{trajectory.n} scores are too few to see a loss (needs {MIN_POINTS})")
    if trajectory.kind == "flat" and (answers := _lost(reward_accuracy, min_points_critical)) is not None:
        score, trajectory = answers
    least = min_drop_likelihood if supervised else min_drop
    if trajectory.drop < least * max(abs(trajectory.best), abs(trajectory.end)):
        return None
    if not trajectory.lost:
        return None if fall is None else _suggested(score, trajectory, fall)
    whole = abs(trajectory.best) if continued(score) else 0.0  # the gain of a longer run is not in this log
    lost = trajectory.drop / whole if whole else trajectory.drop_fraction
    since, interval = fall_from_best(score, trajectory.best_step)
    what = "level" if whole else "gain"
    gone = f"{percent(min(lost, 1)) if whole else facts.lost(score, trajectory)} of its {what} is lost"
    if trajectory.best_step == score.steps[0]:
        gone = "what it had at its start is lost"
    elif trajectory.kind == "declining" and not whole:
        gone = "it fell" + (" without having risen" if trajectory.gain <= trajectory.level_noise else "")
    together = max(lost, trajectory.beside) if trajectory.beside else 0.0
    large = lost >= drop_critical or together >= drop_critical_together
    alone = eval_score is not None and score is not eval_score and denies(eval_score, trajectory)  # a training reward
    if alone and (not large or trajectory.drop < min_drop_alone * abs(trajectory.best)):
        return None
    stays = reward_mean is not None and shape_of(reward_mean).kind in ("rising", "plateau")
    too = ", and the training reward fell as well" if trajectory.beside and not stays else ""
    material = trajectory.drop >= min_drop_critical * max(abs(trajectory.best), abs(trajectory.end))
    back = recovers(score, trajectory.best, trajectory.best_step)
    nearly = back and recovers(score, trajectory.best, trajectory.best_step, mostly)
    dip = policy is Policy.CONTROL and eval_score is None and not large  # nothing confirms it
    beyond = trajectory.drop_interval[0] > 0  # more than the picking of the best among equal levels explains
    sure = (
        large
        and material
        and beyond
        and trajectory.n >= min_points_critical
        and not (back or came_back(score, trajectory))
    )
    return graded(
        Severity.CRITICAL if sure else Severity.NOTICE if dip else Severity.WARNING,
        "{score} was {best} at {step} and is {end} now{but}: {gone}{too}{back}; {better} than this one",
        seen_since(score, "score", since, interval, level=facts.best(score, trajectory).value),
        score=score.name,
        best=facts.best(score, trajectory),
        step=facts.at(score, trajectory.best_step),
        end=facts.end(score, trajectory),
        but=facts.but_for(score, trajectory),
        gone=gone,
        too=too,
        back=", and it rises again" if back else "",
        better="that best checkpoint is better"
        if run.checkpoints
        else "a model that was saved near that step is better",
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM if large and not nearly else Confidence.LOW,
        numbers={"lost": lost, "kind": trajectory.kind},
    )


def _suggested(score: Series, shape: Trajectory, fall: Fall) -> Finding:
    """A fall that healthy scores show now and then, too."""
    return warning(
        "{score} may have peaked at {step}: it was {best} there and is {end} now{too}, which is not certain; evaluate the "
        "checkpoint nearest to that step and the latest one again, on more samples, and keep the better one",
        seen_since(score, "score", fall.step, (fall.step, float(score.steps[-1])), level=shape.best),
        score=score.name,
        step=facts.at(score, shape.best_step),
        best=facts.best(score, shape),
        end=facts.end(score, shape),
        too=", and the training reward falls as well" if fall.beside else "",
        confidence=Confidence.LOW,
        numbers={"lost": shape.drop_fraction, "sigma": fall.sigma},
    )


def _lost(beside: Series | None, min_points: int) -> tuple[Series, Trajectory] | None:
    """Another measure of success and its course, if it was lost: the share of right answers is hidden in a reward's noise."""
    if beside is None or len(beside.finite) < min_points:
        return None
    course = shape_of(beside.finite)
    return (beside.finite, course) if course.lost else None
