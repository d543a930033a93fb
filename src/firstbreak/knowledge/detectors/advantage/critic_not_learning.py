"""The critic does not get better at predicting the returns.

Looks for: A value loss that is not below its level of the first tenth of the run in the second half, while the
explained variance of the second half is below `max_explained_variance`. Both have to agree. If explained variance is
not logged, the value loss counts only beside a score that is flat. Or a clip of the value function (configured or
logged) far below the returns, or, where these are not logged, below the root of the value loss; or a value loss next to
the clip.
Why: The advantage is the return minus the critic's value. If the critic has not fitted the returns, then nearly all
noise of the returns is left in the advantages.
False alarm: Returns that grow faster than the critic can follow: then the loss grows although the critic learns, and
explained variance rises. Returns that cannot be predicted from the observation. A solved task whose returns are all
equal.
Fix:
- Normalise rewards or returns; compare their scale with the scale of the values.
- Change the critic's learning rate, train it for more epochs, or use a larger critic.
- Check the bootstrap at time limits and the mask of terminal states.
Experiment: Freeze one batch of rollouts and train only the critic on this batch. If the critic cannot fit these
returns, the critic or its targets are broken. If the critic can fit them, the targets change too fast.
References: https://arxiv.org/abs/1506.02438
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_in, warning
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, Message, Role, Run, Series
from firstbreak.words import number

ROLES = (Role.RELATION,)

SAME_VALUE = 0.05  #: of the spread of the returns (convention)
FITTED = 10  #: updates in a row (most of them) in which a critic explains the returns (convention)


def detect(
    value_loss: Series,
    value_explained_variance: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    config: Config | None = None,
    reward_mean: Series | None = None,
    value_clip_range: Series | None = None,
    run: Run | None = None,
    *,
    max_explained_variance: float = at(0.2, "share", "A critic that explains less removes next to no noise."),
    early_share: float = at(0.1, "share", "Of the run: the critic is still untrained there."),
    max_ratio: float = at(0.9, "ratio", "A loss at nine tenths of its first level has not fallen."),
    min_value_loss: float = at(1e-6, "squared return", "With a smaller loss there is nothing left to learn."),
    far_returns: float = at(200.0, "ratio", "Of the value clip: so many updates on one batch nobody makes."),
    pinned: float = at(0.8, "share", "Of the value clip: nearly all squared errors are beyond it."),
    min_points: int = at(20, "points", "Fewer points do not show two levels."),
) -> Finding | None:
    loss = enough(value_loss.finite, min_points, "values of the critic's loss")
    early, late = (float(np.median(part.values)) for part in (loss.head(early_share), loss.tail(0.5)))
    explained = _late(value_explained_variance, min_points)
    clip = None if config is not None and config.get("normalize_reward") else _clip(config, value_clip_range)
    poor = explained is not None and explained <= max_explained_variance and not solved
    error = float(np.median(loss.values)) ** 0.5
    size = float(np.median(np.abs(reward_mean.finite.values))) if reward_mean is not None else error
    if clip and poor and size > far_returns * clip and error > clip:
        said = facts.tell(
            "a value may change by {clip} on a batch (the clip of the value function), {returns}: the critic "
            "cannot reach them; normalise the rewards, or switch off the clip of the value function",
            clip=number(clip),
            returns=facts.tell("and returns are {returns}", returns=facts.median(reward_mean.finite))
            if reward_mean is not None
            else facts.tell("and the squared distance from the returns is {loss}", loss=facts.median(loss)),
        )
        return _clipped(loss, said)
    if clip and poor and pinned * clip <= float(np.median(loss.values)) and early <= clip:
        said = facts.tell(
            "the value loss stays at {level}, next to the clip of the value function ({clip}): squared errors beyond it have no "
            "gradient, and the critic learns nothing; raise the clip, or normalise the rewards",
            level=facts.median(loss),
            clip=number(clip),
        )
        return _clipped(loss, said)
    if solved or late < max_ratio * early or late < min_value_loss:
        return None
    if explained is None:
        if trajectory is None or trajectory.kind != "flat":
            return None
    elif explained > max_explained_variance or _fitted(value_explained_variance, max_explained_variance):
        return None
    where = float(loss.steps[0]), (float(loss.steps[0]), float(loss.tail(0.5).steps[0]))
    if poor and run is not None and (one := _one_value(run, min_points)) is not None:
        return one
    beside = (
        "the score is flat"
        if explained is None or value_explained_variance is None
        else facts.tell(
            "its explained variance is {explained} in the second half",
            explained=facts.median(value_explained_variance.finite.tail(0.5)),
        )
    )
    return warning(
        "the value loss was {early} at first and is {late} in the second half, and {beside}: the critic has not fitted "
        "the returns; train the critic alone on a frozen batch, and compare the scale of rewards and values",
        seen_in(value_loss, "value loss", *where, level=early, beside={"explained variance": value_explained_variance}),
        early=facts.median(loss.head(early_share)),
        late=facts.median(loss.tail(0.5)),
        beside=beside,
        confidence=Confidence.LOW if explained is None else Confidence.MEDIUM,
        numbers={"ratio": late / early if early > 0 else np.inf},
    )


def _one_value(run: Run, min_points: int) -> Finding | None:
    """The critic predicts next to the same value for all states, and their returns differ."""
    values, returns = (
        s.finite if (s := run.series.get(name)) is not None else None for name in ("value.std", "returns.std")
    )
    if values is None or returns is None or min(len(values), len(returns)) < min_points:
        return None
    spread, differ = (float(np.median(s.tail(0.9).values)) for s in (values, returns))
    if not 0 <= spread < SAME_VALUE * differ:
        return None
    return warning(
        "the values of a batch differ by {spread} and its returns by {differ}, in the whole run: the critic predicts one mean "
        "for all states; check that values and returns have one shape, (n,) beside (n, 1) makes a matrix",
        seen_in(values, "spread of the values", beside={"spread of the returns": returns}),
        spread=facts.median(values.tail(0.9)),
        differ=facts.median(returns.tail(0.9)),
    )


def _clip(config: Config | None, logged: Series | None) -> float | None:
    """The clip of the value function, as configured or as logged; None where there is none."""
    configured = config.number("clip_range_value") if config is not None else None
    return configured or (float(np.median(logged.finite.values)) if logged is not None and len(logged.finite) else None)


def _clipped(loss: Series, said: Message) -> Finding:
    """The clip of the value function keeps the critic from learning."""
    return warning(said, seen_in(loss, "value loss"))


def _fitted(explained: Series | None, least: float) -> bool:
    """Whether the critic once explained more than the least, for some updates: what came then is no failure to learn."""
    return (
        explained is not None and first_sustained(explained.finite, lambda values: values > least, FITTED) is not None
    )


def _late(curve: Series | None, min_points: int) -> float | None:
    """The level of the second half; None where it is not known."""
    if curve is None or len(curve.finite) < min_points:
        return None
    return float(np.median(curve.finite.tail(0.5).values))
