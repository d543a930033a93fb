"""The critic predicts returns no better than their mean.

Looks for: Explained variance below `max_explained_variance` for at least `min_share` of the second half of the run, or
within `tolerance` of 0 for at least `min_share_constant` of the second half, while the returns still vary and the score
is not at its highest possible value. Or within `tolerance_flat` of 0 in all of the run, beside a training reward and a
score that are flat.
Why: The advantage is the return minus the critic's value. A critic that is worse than a constant adds noise to every
advantage, and the policy follows this noise. A critic that is a constant removes no noise: every advantage is the whole
return, which teaches something only with very large batches.
False alarm: At the highest possible reward all returns are equal. Their variance is nearly 0, and explained variance
can be any negative number: -30 is harmless there. A value loss that fell below `max_loss_left` of its largest value
shows the same where the highest possible reward is not known. Where all rewards so far are equal, the critic has
nothing to explain. The first updates of any run. Environments whose returns cannot be predicted.
Fix:
- Normalise rewards or returns; compare their scale with the scale of the values.
- Train the critic for more epochs or with a higher learning rate; use a larger critic; do not share layers with the
  policy.
- Check the bootstrap at time limits and the mask of terminal states.
Experiment: Freeze one batch of rollouts and train only the critic on this batch. If the critic cannot fit these
returns, the critic or its targets are broken. If the critic can fit them, the targets change too fast.
References: https://arxiv.org/abs/1506.02438
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, from_point, seen_since, warning
from firstbreak.engine.stats.changes import for_good, turned
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Expected, Finding, Role, Series, Statistic
from firstbreak.words import number

ROLES = (Role.RELATION,)


def detect(
    value_explained_variance: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    value_loss: Series | None = None,
    training_score: Series | None = None,
    *,
    max_explained_variance: float = at(-0.05, "share", "Above, a critic can be as good as the mean, within the noise."),
    min_share: float = at(0.7, "share", "Single updates with a bad critic occur in healthy runs."),
    tolerance: float = at(1e-3, "share", "A critic that predicts one value explains no more than this."),
    tolerance_flat: float = at(0.05, "share", "Noise of a batch; a critic that learns anything explains more."),
    min_share_constant: float = at(0.9, "share", "A critic that learns leaves 0 for some of the time."),
    min_share_sure: float = at(0.95, "share", "Nearly every update: the score learns in spite of this critic."),
    min_value_loss: float = at(1e-6, "squared return", "With less, returns are constant and nothing is to be learned."),
    max_loss_left: float = at(1e-3, "share of its largest", "What is left has no variance to explain.", "population"),
    was_good: float = at(0.1, "share", "Of the variance explained before: more than chance."),
    min_points: int = at(10, "points", "Fewer points do not show more than the first updates."),
) -> Finding | Expected | None:
    variance = enough(value_explained_variance.finite, min_points, "values of explained variance")
    late = variance.tail(0.5)
    share = float(np.mean(late.values < max_explained_variance))
    near_zero = float(np.mean(np.abs(late.values) < tolerance))
    constant = near_zero >= min_share_constant and _errs(value_loss, min_value_loss)
    flat = trajectory is not None and trajectory.kind == "flat" and len(variance) >= 2 * min_points
    flat = flat and training_score is not None and not rises(training_score.finite)
    near = float(np.mean(np.abs(variance.values) < tolerance_flat)) >= min_share_sure
    never = flat and near and _errs(value_loss, min_value_loss)
    left = turned(variance.values < max_explained_variance)  # a critic that was better in this run
    was_better = left is not None and float(np.median(variance.values[:left])) >= was_good
    if share < min_share and not constant and not was_better and not never:
        return None
    if solved:
        return Expected(
            f"explained variance is {number(float(np.median(late.values)))} because the score is at its highest possible "
            "value: equal returns have no variance to explain"
        )
    remains = _loss_left(value_loss, min_points)
    if remains is not None and remains < max_loss_left and (trajectory is None or not trajectory.lost):
        return Expected(
            f"explained variance is {number(float(np.median(late.values)))} because the value loss fell to {remains:.1g} of its "
            "largest value: the critic predicts returns that hardly differ"
        )
    constant = constant or never
    limit = tolerance_flat if never else tolerance if constant else max_explained_variance
    first = for_good(variance.values < limit, min_share)  # an untrained critic is this bad, too
    since, interval = (None, None) if first is None else from_point(variance, first)
    sure = share >= min_share_sure and value_loss is not None and _errs(value_loss, min_value_loss)
    harmful = trajectory is not None and (trajectory.lost or trajectory.kind in ("flat", "oscillating"))
    return warning(
        _constant(late)
        if constant
        else _lost(variance, since)
        if was_better and since is not None
        else _worse(late, max_explained_variance),
        seen_since(variance, "explained variance", since, interval, level=0.0),
        confidence=Confidence.HIGH if harmful or was_better else Confidence.MEDIUM if sure else Confidence.LOW,
    )


def _errs(value_loss: Series | None, min_value_loss: float) -> bool:
    """Whether the critic still has something to learn: a loss of 0 beside no explained variance is a constant return."""
    late = np.zeros(0) if value_loss is None else value_loss.finite.tail(0.5).values
    return not len(late) or bool(np.median(late) > min_value_loss)


def _loss_left(value_loss: Series | None, min_points: int) -> float | None:
    """Median of the second half of the value loss, as a share of its largest values (95 % quantile)."""
    if value_loss is None or len(loss := value_loss.finite) < min_points:
        return None
    largest = float(np.quantile(loss.values, 0.95))
    return float(np.median(loss.tail(0.5).values)) / largest if largest > 0 else None


def _constant(late: Series) -> str:
    return facts.tell(
        "explained variance is between {low} and {high} in nine tenths of the second half: the critic predicts the same value "
        "everywhere; bring returns to a size of about 1, and train the critic alone on a frozen batch",
        low=facts.of(Statistic.QUANTILE, late, 0.05),
        high=facts.of(Statistic.QUANTILE, late, 0.95),
    )


def _lost(variance: Series, since: float) -> str:
    return facts.tell(
        "explained variance was {before} and is {now} since {since}: the critic became worse than a constant; check the scale of "
        "the returns at that step, then lower the critic's learning rate",
        before=facts.settled(variance, since),
        now=facts.settled(variance),
        since=facts.at(variance, since),
    )


def _worse(late: Series, limit: float) -> str:
    return facts.tell(
        "explained variance is below {limit} in {share:%} of the second half (median {late}): the critic is worse than a "
        "constant; train the critic alone on a frozen batch",
        limit=number(limit),
        share=facts.of(Statistic.BELOW, late, limit),
        late=facts.median(late),
    )
