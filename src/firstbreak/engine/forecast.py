"""When will a curve meet its wall? Entropy its floor, completions the length limit, the divergence its target.

A saturating law is fitted in every version that the points allow (stats/ceiling.py); what is said is the range of the
arrivals of all of them. Nothing is said where no arrival is expected within as many steps as have been trained.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from firstbreak.inputs import Inputs
from firstbreak.model import Forecast, Series
from firstbreak.stats.ceiling import arrival

ENTROPY_FLOOR = 0.05  #: of its start: at a twentieth of it a policy has stopped trying other things
DRIFT = (
    1.0  #: nats per token to the reference: little of it is left (KL of TRL's and AReaL's healthy runs stays below 0.1)
)
MIN_POINTS = 12
HORIZON = 1.0  #: of the steps trained so far: further ahead nobody can see


@dataclass(frozen=True)
class Wall:
    """What a curve may run into."""

    curve: Series | None
    level: float | None
    name: str


def forecasts(inputs: Inputs) -> tuple[Forecast, ...]:
    """The walls that are expected within the horizon, the nearest first."""
    found = [forecast for wall in walls(inputs) if (forecast := _ahead(wall)) is not None]
    return tuple(sorted(found, key=lambda forecast: forecast.within[0]))


def walls(inputs: Inputs) -> tuple[Wall, ...]:
    """The walls of this run, known or not."""
    entropy, length, config = inputs.get("policy_entropy"), inputs.get("length_mean"), inputs.run.config
    start = float(np.median(entropy.finite.values[:5])) if entropy is not None and len(entropy.finite) else math.nan
    target = None if "target_kl" in config.defaulted else config.number("target_kl")
    return (
        Wall(entropy, ENTROPY_FLOOR * start if start > 0 else None, "a twentieth of its start"),
        Wall(length, inputs.get("length_limit"), "the length limit"),
        Wall(inputs.get("kl_old"), target, "the target divergence"),
        Wall(inputs.get("kl_ref"), DRIFT, "1 nat per token, where little of the reference is left"),
    )


def _ahead(wall: Wall) -> Forecast | None:
    curve = wall.curve.finite if wall.curve is not None else None
    if curve is None or wall.level is None or not math.isfinite(wall.level) or len(curve) < MIN_POINTS:
        return None
    away = wall.level - float(np.median(curve.tail(0.1).values))
    if away * (wall.level - float(np.median(curve.head(0.1).values))) <= 0:
        return None  # it stands beyond the wall already, or began there: a detector's matter
    within = arrival(curve, wall.level, HORIZON)
    if within is None or within == (0.0, 0.0):
        return None
    return Forecast(metric=curve.name, wall=wall.level, name=wall.name, within=within)
