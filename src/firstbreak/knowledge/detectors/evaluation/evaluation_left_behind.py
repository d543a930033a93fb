"""Training returns rise, and the evaluation stays at its first level.

Looks for: In environments: a training return that rose and was not lost, and an evaluation that gained at most
`max_gain` of the gain of training. In `min_share` of the evaluations of the second half, the evaluation lies below
training by more than `min_gap` of that gain. Or the mean training return lies above the best episode of every
evaluation. Or all episodes of an evaluation return one number, above every training return: they start from one state.
Or evaluations that are lower than training by more than their error, each of the second half, where the configuration says that
the evaluation lacks a wrapper of training that changes observations or actions.
Why: Training and evaluation run the same task with the same policy, and the greedy policy is rarely worse. A policy
that fails only in the evaluation gets something else there: observations without the normalisation statistics of
training, another frame skip, another wrapper, another version.
False alarm: Training that rewards something else than the evaluation on purpose (shaped rewards, an easier level).
Fix:
- Build the evaluation environment with the same function, and copy the normalisation statistics of training into it.
- Evaluate once with `deterministic=False`: where this closes the gap, the greedy policy itself does not move on.
Experiment: Evaluate the checkpoint in the training environment, without learning. If the score is that of training, the
evaluation environment is different.
References: https://stable-baselines3.readthedocs.io/en/master/guide/vec_envs.html#vecnormalize
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.stats.agreement import comparable
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Config, Finding, NotApplicable, NotMeasured, Role, Series
from firstbreak.words import number

SCALED = 12.0  #: ratio, as of `reward-scale-apart`
GAINED = 3.0  #: errors of the level: what training surely had gained
CLOSE = 0.1  #: of the best episode's return: nearer is the difference of a mean and a maximum (convention)
FIRST = 3  #: returns of the untrained policy: the smoothed start of a fast learner has left them behind (convention)
EPISODES = 10  #: of an evaluation: fewer are unusual (convention)
ERRORS = 2.0  #: standard errors
LEAST = 3  #: evaluations at the end that are lower (convention)
EQUAL = 1e-6  #: returns of equal episodes differ by less (convention)
ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL, *SAMPLED, why="only where training and evaluation run the same task")


def detect(
    eval_reward: Series,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    eval_reward_max: Series | None = None,
    eval_reward_std: Series | None = None,
    evaluation_lacks: str | None = None,
    config: Config | None = None,
    *,
    max_gain: float = at(0.2, "share", "of the gain of training: the evaluation has hardly moved"),
    min_gap: float = at(0.5, "share", "of the gain: nearer to the untrained policy"),
    min_share: float = at(0.8, "share", "of the evaluations of the second half: single bad evaluations are chance"),
    min_points: int = at(6, "points", "with fewer returns no shape is known"),
    min_evaluations: int = at(4, "evaluations", "fewer may all be early or unlucky"),
) -> Finding | NotApplicable | NotMeasured | None:
    returns = reward_mean if reward_mean is not None else reward_episode
    if returns is None or len(returns.finite) < min_points or len(eval_reward.finite) < min_evaluations:
        return NotMeasured(f"fewer than {min_points} training returns, or than {min_evaluations} evaluations")
    trained, scores = returns.finite, eval_reward.finite
    if not comparable(scores, trained):
        return NotApplicable("the evaluation is a share, and the training return is not")
    training = trajectory(trained)
    late = scores.tail(0.5)
    one = (
        eval_reward_std is not None and len(eval_reward_std) >= min_evaluations and eval_reward_std.values.max() < EQUAL
    )
    if one and float(late.values.min()) > float(trained.values.max()):
        return _one_episode(late, trained)
    if config is not None and config.get("normalize_reward") and (normed := _normalised(trained, scores)) is not None:
        return normed
    if evaluation_lacks is not None and (lacks := _built_otherwise(trained, late, eval_reward_std, evaluation_lacks)):
        return lacks
    if eval_reward_max is not None and training.learned and not training.lost:
        above = _above_the_best(trained, eval_reward_max.finite, min_evaluations)
        if above is not None:
            return _apart(trained, eval_reward_max.finite.between(above), scores, above)
    risen = float(scores.values.max() - scores.values[0])
    gain = training.best - min(training.start, float(np.median(trained.values[:FIRST])))
    there = np.interp(scores.steps, trained.steps, trained.values)
    if training.lost and training.kind in ("peaked", "collapsed") and gain > GAINED * training.level_noise:
        kept = scores.values[there > training.start + gain / 2]  # evaluations while training had most of its gain
        if len(kept) >= min_evaluations and float(kept.max() - scores.values[0]) < max_gain * gain / 2:
            return _while_it_was_high(scores, trained, kept)
    if not training.learned or training.lost or risen > max_gain * gain:
        return None
    gap = np.interp(late.steps, trained.steps, trained.values) - late.values
    if float(np.mean(gap > min_gap * gain)) < min_share:
        return None
    first = float(scores.steps[0])
    return warning(
        "training returns rose from {start} to {end}, and the evaluation stays at {late}: the evaluation environment "
        "differs from the training environment; evaluate once in the training environment, with its normalisation "
        "statistics",
        seen_in(scores, "evaluation", first, (first, float(late.steps[0])), beside={"training return": trained}),
        start=facts.start(trained, training),
        end=facts.end(trained, training),
        late=facts.median(late),
        numbers={"gap": float(np.median(gap))},
    )


def _while_it_was_high(scores: Series, trained: Series, kept: np.ndarray) -> Finding:
    return warning(
        "training returns reached {best}, and {n} evaluations at that time returned {most} at most: the evaluation environment "
        "differs from the training environment; evaluate once in the training environment, with its normalisation statistics",
        seen_in(scores, "evaluation", beside={"training return": trained}),
        best=facts.highest(trained),
        n=f"{len(kept)}",
        most=number(float(kept.max())),
    )


def _above_the_best(trained: Series, best: Series, least: int) -> float | None:
    """The evaluation from which on the training return lies above the best episode of every evaluation."""
    there = np.interp(best.steps, trained.steps, trained.values)
    first = for_good(there - best.values > np.abs(best.values) * CLOSE, 1.0)
    return None if first is None or len(best) - first < 2 * least else float(best.steps[first])


def _built_otherwise(trained: Series, late: Series, deviation: Series | None, lacks: str) -> Finding | None:
    """Evaluations below training, all of the second half, by more than the error of an evaluation of ten episodes."""
    there = np.interp(late.steps, trained.steps, trained.values)
    spread = np.std(late.values) if deviation is None else np.median(deviation.finite.tail(0.5).values) / EPISODES**0.5
    first = for_good(there - late.values > ERRORS * spread, 1.0)
    if first is None or len(late) - first < LEAST:
        return None
    since = float(late.steps[first])
    return warning(
        "training returns {trained}, the evaluation {late} at the same steps, and only the training environment has {lacks}: "
        "the policy is evaluated on what it has never seen; build both environments with one function, and share the "
        "normalisation statistics",
        seen_in(late, "evaluation", since, (float(trained.steps[0]), since), beside={"training return": trained}),
        trained=facts.median(trained.between(since)),
        late=facts.median(late.between(since)),
        lacks=lacks,
    )


def _normalised(trained: Series, scores: Series) -> Finding | None:
    """Evaluations that are far smaller than the training returns, all along: a normaliser's, where those are the task's own."""
    there = np.interp(scores.steps, trained.steps, trained.values)
    known = (there * scores.values > 0) & (np.abs(there) > SCALED * np.abs(scores.values))
    if known.mean() < 1:
        return None
    return warning(
        "training returns {trained}, the evaluation {scores} at the same steps, and the configuration normalises rewards: the "
        "evaluation is a sum of normalised rewards, and no return of the task; build it with norm_reward=False, training=False",
        seen_in(scores, "evaluation", beside={"training return": trained}),
        trained=facts.median(trained),
        scores=facts.median(scores),
    )


def _one_episode(late: Series, trained: Series) -> Finding:
    return warning(
        "the episodes of each evaluation return one and the same number, {late}, above every training return ({highest} at "
        "most): all of them start from one state; give each episode of the evaluation another seed",
        seen_in(late, "evaluation", beside={"training return": trained}),
        late=facts.median(late),
        highest=facts.highest(trained),
    )


def _apart(trained: Series, best: Series, scores: Series, since: float) -> Finding:
    return warning(
        "training returns {trained} on average, and the best episode of each of {n} evaluations returns {best}: the "
        "evaluation environment differs from the training environment; evaluate once in the training environment, with its "
        "normalisation statistics",
        seen_in(scores, "evaluation", since, (float(trained.steps[0]), since), beside={"training return": trained}),
        trained=facts.median(trained.between(since)),
        n=facts.count(best),
        best=facts.median(best),
    )
