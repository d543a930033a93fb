"""The clip limits a large part of every batch.

Looks for: The share of samples whose ratio was clipped: from some step on, it is `high` or more in most updates.
Why: The clip slows the update, and does not stop it: clipped samples have no gradient, the others still have one. If
the clip acts all the time, then the learning rate, the number of epochs or the advantages are too large, or the data
are old.
False alarm: The clip range is small on purpose. The trainer reports the last epoch only, in which most of the batch has
already had its effect.
Fix:
- Lower {learning_rate} or {epochs_per_batch}, or use larger batches.
- Check the age of the rollouts, and whether the old log-probabilities belong to the policy that sampled.
Experiment: One epoch and one minibatch per batch for 20 updates: the clip fraction must then be 0. If the clip fraction
is not 0, the old log-probabilities are wrong.
References: https://arxiv.org/abs/1707.06347
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, from_point, graded, seen_since
from firstbreak.engine.families import Method, without
from firstbreak.engine.stats.changes import for_good, turned
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Expected, Finding, Series, Severity

EITHER_SCORE = True
FAMILIES = without(Method.SUPERVISED)


def detect(
    policy_clip_fraction: Series,
    config: Config,
    trajectory: Trajectory | None = None,
    *,
    high: float = at(0.35, "share", "A third of the samples is a large part of every batch."),
    hardly_any: float = at(0.75, "share", "None of 520 healthy runs of the population clips so much."),
    lasting_share: float = at(0.6, "share", "Most updates, from some step on."),
    lasting_points: int = at(5, "points", "No healthy run of the lab is above it for so long.", "lab"),
    min_points: int = at(10, "points", "Fewer values show no level."),
) -> Finding | Expected | None:
    clipped = enough(policy_clip_fraction.finite, min_points, "values of the clip fraction")
    if not clipped.values.any() and config.number("updates_per_batch") == 1:
        return Expected(
            "the clip fraction is 0 because each batch is used for one update: the ratio is 1 by construction"
        )
    first = for_good(clipped.values >= high, lasting_share)
    if first is None or len(clipped) - first < lasting_points:
        return None
    since, late = float(clipped.steps[first]), median(clipped.values[first:])
    harmed = trajectory is not None and (trajectory.lost or trajectory.kind == "flat")
    return graded(
        Severity.CRITICAL if harmed else Severity.WARNING,
        "{late:%} of the samples are clipped since {since}: the updates are too large; lower the learning rate first",
        seen_since(clipped, "clip fraction", *from_point(clipped, first), level=high),
        late=facts.median(clipped.between(since)),
        since=facts.at(clipped, since),
        confidence=Confidence.HIGH
        if harmed or late >= hardly_any or turned(clipped.values >= high) is not None
        else Confidence.MEDIUM,
        numbers={"level": late},
    )
