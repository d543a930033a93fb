"""A few extreme rewards dominate the gradient.

Looks for: The largest or smallest reward of a step, against the typical spread of the step means: values more than
`min_distance` spreads away, in at least `min_outliers` steps. Where extremes are not logged: steps whose rewards are
spread out `spread_ratio` times as much as is usual, while the mean goes with them. In a table of single steps: the first
steps of episodes, most of which get rewards beyond those of every other step.
Why: The advantage grows with the reward. One reward of 100 among rewards of 1 makes one sample the whole update, and
the update becomes larger than the clip should allow.
False alarm: Tasks with rare large rewards (a jackpot): while the score rises, only low rewards count. Sparse rewards in
small batches: their spread is 0 in one step and large in the next.
Fix:
- Clip or normalise rewards; check the unit of each reward component.
- Find the sample with the extreme reward and score it by hand.
Experiment: Train 20 updates with rewards clipped at the 99th percentile. If the gradient norm falls and the score
rises, the outliers were the cause.
References: https://arxiv.org/abs/2005.12729
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, seen_since, warning
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median, quantile
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Finding, NotMeasured, Run, Series, Statistic
from firstbreak.words import number

BEYOND, MOSTLY = 0.3, 0.6  #: of the range of other steps, and share of the first steps (convention)


def detect(
    reward_mean: Series,
    trajectory: Trajectory,
    reward_max: Series | None = None,
    reward_min: Series | None = None,
    reward_std: Series | None = None,
    run: Run | None = None,
    *,
    min_distance: float = at(50.0, "standard deviations", "Smaller distances occur in healthy batches."),
    typical_ratio: float = at(10.0, "ratio", "An outlier is so many times as far away as the largest usually is."),
    size_ratio: float = at(5.0, "ratio", "An outlier is so many times as large as the mean reward usually is."),
    spread_ratio: float = at(4.0, "ratio", "Of the largest usual spread: rewards of another kind of sample, no noise."),
    steady: float = at(0.5, "ratio", "Of the low to the median spread: in sparse rewards the spread itself jumps."),
    min_outliers: int = at(3, "steps", "One or two extreme rewards can be luck."),
    min_points: int = at(20, "points", "Fewer steps do not show what the typical spread is."),
) -> Finding | NotMeasured | None:
    if run is not None and (begun := _at_reset(run)):
        return begun
    extremes = [s.finite for s in (reward_max, reward_min) if s is not None and len(s.finite) >= min_points]
    centre = reward_mean.finite
    spread_out = reward_std is not None and len(reward_std.finite) >= min_points
    if not (extremes or spread_out) or len(centre) < min_points:
        return NotMeasured("neither the largest nor the smallest reward of a step is logged often enough")
    spread = noise_scale(centre.values)
    if spread == 0:
        return None
    rises = trajectory.kind == "rising"
    spreads = None if rises or reward_std is None or not spread_out else reward_std.finite
    if spreads is not None and (wide := _wide(spreads, spread_ratio, steady, min_outliers)):
        return wide
    size = median(np.abs(centre.values)) / spread
    found: list[tuple[Series, np.ndarray, np.ndarray]] = []  # an extreme, its distances from the mean, its outliers
    for extreme in extremes:
        if rises and extreme.name == "reward.max":  # which may be what the policy learns from
            continue
        away = np.abs(extreme.values - np.interp(extreme.steps, centre.steps, centre.values)) / spread
        outliers = away > max(min_distance, typical_ratio * median(away), size_ratio * size)
        if np.sum(outliers) >= min_outliers:
            found.append((extreme, away, outliers))
    if not found:
        return None
    worst, away, outliers = max(found, key=lambda one: float(one[1].max()))
    first = float(worst.steps[np.argmax(outliers)])
    return warning(
        f"in {int(np.sum(outliers))} steps one reward lies up to {number(float(away[outliers].max()))} times the noise "
        f"of the mean reward away from it (typical: {number(median(away))}): one sample dominates the update; "
        "look at the sample with the extreme reward, then clip or normalise rewards",
        seen_since(worst, worst.name, first),
        confidence=Confidence.MEDIUM,
    )


def _wide(spreads: Series, ratio: float, steady: float, min_outliers: int) -> Finding | None:
    """Single steps in which the rewards of a batch are spread out many times as much as is usual."""
    usual = quantile(spreads.values, 0.75)  # fewer than a quarter of the steps have an outlier
    low, middle = quantile(spreads.values, 0.1), quantile(spreads.values, 0.5)
    wide = spreads.values > ratio * usual
    if low < steady * middle or usual <= 0 or np.sum(wide) < min_outliers:
        return None
    first = float(spreads.steps[np.argmax(wide)])
    return warning(
        "in {n} steps the rewards of a batch have a standard deviation of up to {top} (usual: {usual}): a few outliers "
        "dominate these updates; look at the samples with the extreme rewards, then clip or normalise rewards",
        seen_since(spreads, spreads.name, first, level=usual),
        n=f"{int(np.sum(wide))}",
        top=facts.highest(spreads),
        usual=facts.of(Statistic.QUANTILE, spreads, 0.75),
        confidence=Confidence.MEDIUM,
    )


def _at_reset(run: Run) -> Finding | None:
    """A table of steps in which the first step of each episode but the very first one is paid as no other step is."""
    columns = (run.unknown.get(f"transitions/{name}") for name in ("t", "reward"))
    count, paid = (None if s is None else s.values for s in columns)
    if count is None or paid is None or len(count) != len(paid):
        return None
    first = np.flatnonzero(count == count.min())
    others, begun = np.delete(paid, first), paid[first[1:]]
    if len(begun) < 3 or not len(others) or not np.ptp(others):
        return None
    away = np.maximum(begun - others.max(), others.min() - begun)
    if np.mean(away > BEYOND * np.ptp(others)) < MOSTLY:
        return None
    steps = run.unknown["transitions/reward"]
    return warning(
        f"the first step of {len(begun)} episodes is paid {number(float(np.median(begun)))}, and the other steps between "
        f"{number(float(others.min()))} and {number(float(others.max()))}: the reward keeps something of the episode before; "
        "clear it in reset",
        seen_in(steps, "reward of a step"),
    )
