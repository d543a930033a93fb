"""When will a curve reach a limit: the entropy its floor, completions the length limit, the KL divergence its target?

A saturating law is fitted to the curve in every version that the points allow (stats/ceiling.py). The forecast is the range
from the earliest to the latest arrival of all these fits. There is no forecast where no fit arrives within as many steps as
have been trained.
"""

import math

from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats.ceiling import arrival
from firstbreak.engine.stats.points import median
from firstbreak.model import Forecast, Series
from firstbreak.values import dataclass

#: share of the entropy at the start: a policy with a twentieth of it has stopped exploring (convention)
ENTROPY_FLOOR = 0.05
#: nats per token from the reference model: a policy this far away has little of it left. KL of TRL's and AReaL's healthy runs
#: stays below 0.1.
KL_LIMIT = 1.0
MIN_POINTS = 12  #: points of a curve: fewer do not bend visibly (convention)
HORIZON = 1.0  #: share of the steps trained so far: a forecast further ahead is a guess (convention)


@dataclass(frozen=True)
class Limit:
    """A level that a curve may reach."""

    curve: Series | None
    level: float | None
    name: str


def forecasts(inputs: Inputs) -> tuple[Forecast, ...]:
    """The limits that are expected within the horizon, the nearest first."""
    found = [forecast for limit in limits(inputs) if (forecast := _ahead(limit)) is not None]
    return tuple(sorted(found, key=lambda forecast: forecast.within[0]))


def limits(inputs: Inputs) -> tuple[Limit, ...]:
    """The limits of this run, known or not."""
    entropy, length, config = inputs.policy_entropy, inputs.length_mean, inputs.run.config
    start = median(entropy.finite.values[:5]) if entropy is not None and len(entropy.finite) else math.nan
    target = config.recorded("target_kl")
    return (
        Limit(entropy, ENTROPY_FLOOR * start if start > 0 else None, "5 % of its value at the start"),
        Limit(length, inputs.length_limit, "the length limit"),
        Limit(inputs.kl_old, target, "the target KL divergence"),
        Limit(inputs.kl_ref, KL_LIMIT, "1 nat per token away from the reference model"),
    )


def _ahead(limit: Limit) -> Forecast | None:
    curve = limit.curve.finite if limit.curve is not None else None
    if curve is None or limit.level is None or not math.isfinite(limit.level) or len(curve) < MIN_POINTS:
        return None
    away = limit.level - median(curve.tail(0.1).values)
    if away * (limit.level - median(curve.head(0.1).values)) <= 0:
        return None  # the curve has passed the limit already, or started there: detectors look at that
    within = arrival(curve, limit.level, HORIZON)
    if within is None or within == (0.0, 0.0):
        return None
    return Forecast(metric=curve.name, level=limit.level, name=limit.name, within=within)
