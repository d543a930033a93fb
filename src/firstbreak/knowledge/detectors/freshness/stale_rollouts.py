"""The data are older than the policy that learns from them can bear.

Looks for: The age of the data in policy versions: its growth compared with its own past, its level compared with the
configured limit ({max_staleness}), and the share of samples that were dropped as too old.
Why: On-policy methods learn from what the current policy does. Old data push the policy towards what was good for
another policy: the ratio does not start at 1, the clip cuts half of the gradient, and the reward lags or swings with
the period of the lag. An age that keeps growing says that generation is too slow.
False alarm: An asynchronous trainer with a limit of a few versions works at that limit by design. The first steps fill
the queue, so the age rises from 0 to its level. A limit that is not recorded is not taken from the trainer's defaults.
Fix:
- Lower {max_staleness}.
- Turn on the correction for old data ({use_decoupled_loss}, {behave_weight_cap}).
- Give generation more of the hardware, or make the slowest rollouts shorter ({max_new_tokens}, {max_turns}).
Experiment: Twenty steps with {max_staleness} 0, from the same checkpoint: if the reward recovers, the age of the data
was the cause.
References: https://arxiv.org/abs/2505.24298
https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://verl.readthedocs.io/en/latest/advance/fully_async.html
"""

from typing import NamedTuple

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Family
from firstbreak.engine.stats.onset import first_sustained, onset
from firstbreak.engine.stats.points import late_median, median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.trend import trend
from firstbreak.knowledge.detectors.freshness._engines import nothing_recorded
from firstbreak.model import Confidence, Config, Finding, Interval, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent


class _Sight(NamedTuple):
    """What was seen, and since when; in an interval of its own where that is not one step."""

    what: str
    severity: Severity
    onset: float | None = None
    interval: Interval | None = None


EITHER_SCORE = True
FAR = 4.0  #: times the age up to which a decoupled loss trains well: nobody trains so, whatever the score does (convention)


def detect(
    config: Config,
    family: Family,
    data_age: Series | None = None,
    staleness_max: Series | None = None,
    staleness_dropped: Series | None = None,
    staleness_generated: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    growth_warning: float = at(2.0, "ratio", "Twice the age of the settled queue."),
    min_age: float = at(1.0, "versions", "A growing age below one version does not matter."),
    max_dropped_share: float = at(0.2, "share", "More means that generation works for nothing."),
    max_age: float = at(8.0, "versions", "AReaL trains well with 8.", "arXiv:2505.24298"),
    slack: float = at(1.0, "versions", "Trainers differ in whether the version in training counts."),
    min_points: int = at(12, "points", "Fewer ages show no growth."),
) -> Finding | NotApplicable | NotMeasured | None:
    limit = config.number("max_staleness")
    if data_age is None and limit == 0:
        return NotApplicable("synchronous training: the staleness limit is 0")
    if "max_staleness" in config.defaulted:
        limit = None  # ages that are logged say more than a default
    if data_age is None:
        return nothing_recorded(family, "the age of the data is")
    ages = enough(data_age.finite, min_points, "ages")
    seen = (
        _over_limit(ages if staleness_max is None else staleness_max.finite, limit, slack, max_age)
        or _growing(ages, growth_warning, min_age)
        or _dropped(staleness_dropped, staleness_generated, max_dropped_share)
        or _unusual(ages, max_age, trajectory)
    )
    if seen is None:
        return None
    return graded(
        seen.severity,
        "{what}; train 20 steps with a staleness limit of 0, and check whether the reward recovers",
        seen_since(data_age, seen.what, seen.onset, seen.interval, level=limit),
        what=seen.what,
        confidence=Confidence.MEDIUM if limit is None and late_median(ages) <= FAR * max_age else Confidence.HIGH,
        numbers={"age": late_median(ages), "limit": limit},
    )


def _over_limit(oldest: Series, limit: float | None, slack: float, max_age: float) -> _Sight | None:
    if limit is None or not len(oldest) or late_median(oldest) <= limit + slack:
        return None
    step = first_sustained(oldest, lambda values: values > limit + slack)
    what = facts.tell(
        "the oldest data are {late} versions old, and the limit is {limit}",
        late=facts.median(oldest.tail(0.25)),
        limit=number(limit),
    )
    severity = Severity.CRITICAL if late_median(oldest) > limit + max_age else Severity.WARNING
    return _Sight(what, severity, step)


def _growing(ages: Series, growth_warning: float, min_age: float) -> _Sight | None:
    # The first quarter fills the queue.
    settled = median(ages.head(0.5).tail(0.5).values)
    if late_median(ages) < max(min_age, growth_warning * settled) or not trend(ages.tail(0.75)).rising:
        return None
    began = onset(ages, direction=1, kinds=("level", "ramp"))
    what = facts.tell(
        "the age of the data grew to {late} versions and still grows: generation is too slow",
        late=facts.median(ages.tail(0.25)),
    )
    return _Sight(what, Severity.WARNING, *((began.step, began.interval) if began else (None, None)))


def _dropped(dropped: Series | None, generated: Series | None, max_dropped_share: float) -> _Sight | None:
    """Both counts run from the start of training."""
    if dropped is None or generated is None or not (len(dropped.finite) and len(generated.finite)):
        return None
    lost, made = float(dropped.finite.values[-1]), float(generated.finite.values[-1])
    if made <= 0 or lost < max_dropped_share * made:
        return None
    return _Sight(f"{percent(lost / made)} of the samples were dropped as too old", Severity.WARNING)


def _unusual(ages: Series, max_age: float, trajectory: Trajectory | None) -> _Sight | None:
    if late_median(ages) <= max_age:
        return None
    step = first_sustained(ages, lambda values: values > max_age)
    what = facts.tell(
        "the data are {late} versions old, more than the usual 2 to {usual}",
        late=facts.median(ages.tail(0.25)),
        usual=number(max_age),
    )
    harmless = (
        trajectory is not None and trajectory.learned and not trajectory.lost and late_median(ages) <= FAR * max_age
    )
    return _Sight(what, Severity.NOTICE if harmless else Severity.WARNING, step)
