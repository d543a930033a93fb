"""Each update moves the policy too far.

Looks for: The KL divergence from the policy before the update (`kl.old`): from some step on, in most updates, above
`max_target_ratio` times the configured target, or above `max_divergence` where no target is configured. Smaller updates
count where they have grown `growth_warning`-fold for good, and the score fell from there or much of each batch is
clipped since then. If the score was lost, also a burst: a few updates in a row that are far larger than everything
before them.
Why: PPO's estimate of the gain is valid only near the policy that collected the data. Beyond that the step is a guess,
and a bad policy then collects the data for the next step.
False alarm: The first updates, before the running statistics of the advantages have settled. A single spike that comes
back. A KL penalty that is still adapting.
Fix:
- Lower {learning_rate}, {epochs_per_batch} or {minibatches}.
- Stop the epochs of a batch early at {target_kl}.
- Check that advantages are normalised ({normalize_advantage}).
Experiment: Resume from before the onset with {learning_rate} / 10 for a tenth of the run: if the step size is the
cause, the KL divergence falls to about a hundredth.
References: https://arxiv.org/abs/1707.06347 https://spinningup.openai.com/en/latest/algorithms/ppo.html
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Method, without
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.direction import fell_since
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, Series, Severity, Statistic
from firstbreak.words import number

EITHER_SCORE = True
FAMILIES = without(Method.SUPERVISED)
MEDIAN_OLD = 0.03  #: of the points before: after so many more, "everything before them" is asked again (convention)


def detect(
    kl_old: Series,
    config: Config,
    trajectory: Trajectory | None = None,
    method: Method | None = None,
    policy_clip_fraction: Series | None = None,
    eval_score: Series | None = None,
    training_score: Series | None = None,
    *,
    max_divergence: float = at(0.1, "nats", "Beyond this, the policy is not near the one that collected the data."),
    beyond: float = at(10.0, "ratio", "Of that: no healthy run of the population (520) moves a third so far."),
    max_target_ratio: float = at(2.0, "ratio", "Clearly above the 1.5 at which SB3 stops."),
    growth_warning: float = at(5.0, "ratio", "For good, against the run's own first updates."),
    noticeable: float = at(0.005, "nats", "Smaller updates hardly move a policy, however they grew."),
    clipped: float = at(0.25, "share", "Of the samples: a quarter is far above the usual tenth."),
    lasting_points: int = at(8, "points", "Fewer large updates in a row are a spike."),
    lasting_share: float = at(0.6, "share", "Most updates, from some step on."),
    burst_growth: float = at(5.0, "ratio", "Far beyond the median of everything before it."),
    burst_points: int = at(3, "points", "So many updates in a row are no spike of one batch."),
    single_growth: float = at(10.0, "ratio", "Times the bound of a burst: one such update is enough to lose a policy."),
    min_points: int = at(10, "points", "Fewer updates show no level."),
) -> Finding | None:
    kl = enough(kl_old.finite, min_points, "values of the KL divergence per update")
    target = config.number("target_kl")
    size = np.abs(kl.values)
    limit = max_target_ratio * target if target else max_divergence
    lost = trajectory is not None and trajectory.lost
    harmed = lost or (trajectory is not None and trajectory.kind == "flat")
    burst = _burst(kl, limit, burst_growth, burst_points, single_growth) if lost else None
    first = for_good(size > limit, lasting_share)
    usual = float(np.median(size[: max(3, len(size) // 5)]))
    grown = False
    if burst is None and (first is None or len(kl) - first < lasting_points):
        grown, limit = True, max(growth_warning * usual, noticeable)
        first = for_good(size > limit, lasting_share)
        if first is None or len(kl) - first < lasting_points:
            return None
        fell = fell_since(float(kl.steps[first]), eval_score, training_score)
        if not fell and not _clips(policy_clip_fraction, float(kl.steps[first]), clipped):
            return None
        harmed = harmed or fell
    since = burst if burst is not None else float(kl.steps[first or 0])
    interval = (since if burst is not None else float(kl.steps[0]), since)
    rest = kl.between(since)
    moves = (
        facts.of(Statistic.LARGEST, rest.head(burst_points / len(rest)))
        if burst is not None
        else facts.of(Statistic.SIZE, rest)
    )
    shown = moves.value
    against = (
        f"{number(usual)} at first"
        if grown
        else facts.tell(
            "{times} times its target of {target}",
            times=number(shown / target),
            target=facts.setting(config, "target_kl"),
        )
        if target
        else f"from {number(limit)} on a step is large"
    )
    fewer_epochs = " or stop the epochs of a batch early" if method is not Method.VALUE_BASED else ""
    return graded(
        Severity.CRITICAL if harmed else Severity.WARNING,
        "the policy moves by {moves} nats per update{since} ({against}): {which} too large; lower the learning "
        "rate{fewer_epochs}",
        seen_since(kl_old, "KL divergence per update", since, interval, metric="kl.old", level=limit),
        moves=moves,
        since=facts.tell(
            " and less, right after {since}" if burst is not None else " since {since}", since=facts.at(kl, since)
        ),
        against=against,
        which="these updates are" if burst is not None else "each update is",
        fewer_epochs=fewer_epochs,
        confidence=Confidence.HIGH if harmed or shown >= beyond * max_divergence else Confidence.MEDIUM,
        numbers={"level": shown},
    )


def _clips(clip_fraction: Series | None, since: float, share: float) -> bool:
    """Whether so much of each batch is clipped from a step on."""
    late = clip_fraction.finite.between(since).values if clip_fraction is not None else np.array([])
    return bool(len(late)) and float(np.median(late)) >= share


def _burst(kl: Series, limit: float, burst_growth: float, burst_points: int, single_growth: float) -> float | None:
    """The first step of a burst: some updates in a row beyond the limit and far beyond everything before them, or one
    that is beyond all measure.

    A policy that was thrown away stands still afterwards, so the level at the end shows nothing.
    """
    size = np.abs(kl.values)
    low = np.append(sliding_window_view(size, burst_points).min(axis=1), np.zeros(burst_points - 1))  # of some in a row
    start = burst_points
    while start < len(size):
        end = start + 1 + int(MEDIAN_OLD * start)
        bound = max(limit, burst_growth * median(size[:start]))
        beyond = (low[start:end] > bound) | (size[start:end] > single_growth * bound)
        if beyond.any():
            return float(kl.steps[start + int(np.argmax(beyond))])
        start = end
    return None
