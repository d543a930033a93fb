"""How far the inference engine and the trainer are apart, one gauge per recorded quantity.

The levels come from the trainers' own documentation. verl calls a difference of probabilities below 0.005 normal and above
0.01 a problem, and warns at |KL| > 0.1. NeMo-RL accepts a divergence below 0.001 and plots from a multiplicative error of
1.05 on. slime's tests allow a difference of log-probabilities of 0.1. The tinker cookbook calls KL < 0.01 stable.
"""

import math

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.engine.families import Data, Family, Method, Policy
from firstbreak.model import NotApplicable, NotMeasured, Series
from firstbreak.values import dataclass, replace

KL_WARNING = at(0.01, "nats per token", "A smaller KL divergence is called stable.", "tinker cookbook")
KL_CRITICAL = at(0.1, "nats per token", "verl warns at this KL divergence.", "verl: docs/algo/rollout_corr")
LOGP_WARNING = at(0.1, "nats", "A smaller difference of log-probabilities passes slime's tests.", "slime: tests")
LOGP_CRITICAL = at(0.5, "nats", "Probabilities then differ by a factor of 1.6 on average.")
PROBABILITY_WARNING = at(
    0.01, "probability", "verl calls a larger difference of probabilities a problem.", "verl: docs/faq"
)
PROBABILITY_CRITICAL = at(0.05, "probability", "Five times what is called a problem.")
PROBABILITY_ERROR_WARNING = at(
    0.05, "ratio", "NeMo-RL plots from a multiplicative error of 1.05 on.", "NeMo-RL: docs/guides/grpo"
)
PROBABILITY_ERROR_CRITICAL = at(0.5, "ratio", "Probabilities then differ by half on average.")
JENSEN_SHANNON_WARNING = at(0.005, "nats per token", "Half of what is fine for a KL divergence.")
JENSEN_SHANNON_CRITICAL = at(0.05, "nats per token", "Half of what is critical for a KL divergence.")
CORRELATION_WARNING = at(0.05, "correlation", "Missing to 1: the two engines rank tokens alike.")
CORRELATION_CRITICAL = at(0.5, "correlation", "Missing to 1: half of the agreement is lost.")
RATIO_WARNING = at(
    0.01, "ratio", "Before the first step of an update the ratio is 1 by identity; the rest is rounding."
)
RATIO_CRITICAL = at(0.1, "ratio", "No rounding differs by a tenth.")
CLIP_WARNING = at(
    0.005, "share", "Before the first step of an update nothing is clipped by identity; the rest is rounding."
)
CLIP_CRITICAL = at(0.1, "share", "No rounding clips a tenth of the samples.")


@dataclass(frozen=True)
class Gauge:
    """One way to measure the distance of the two engines: |value - perfect|."""

    perfect: float  #: what two equal engines give
    warning: float  #: distance up to which runs are known to train well
    critical: float = math.inf  #: distance from which the two engines are two policies


@dataclass(frozen=True, eq=False)
class Reading:
    """A recorded curve with its gauge."""

    series: Series
    gauge: Gauge

    @property
    def distance(self) -> Series:
        """The distance of the engines at each step, in units of the distance that is fine."""
        points = self.series.finite
        return replace(points, values=np.abs(points.values - self.gauge.perfect) / self.gauge.warning)


def readings(*gauged: tuple[Series | None, Gauge]) -> list[Reading]:
    """The curves that were recorded and hold a number, each with its gauge."""
    return [Reading(series, gauge) for series, gauge in gauged if series is not None and len(series.finite)]


def of_first_ratio(first_ratio: Series | None, ratio: Gauge, clip_fraction: Gauge) -> Gauge:
    """The gauge of what was measured before the first step of an update: the ratio, or the clip fraction."""
    clipped = first_ratio is not None and first_ratio.name.startswith("policy.clip_fraction")
    return clip_fraction if clipped else ratio


def sampler(policy: Policy) -> str:
    """What makes the data, in words."""
    return "inference engine" if policy is Policy.TEXT else "rollout worker"


def nothing_recorded(family: Family, what: str) -> NotApplicable | NotMeasured:
    """Why a check of data freshness has nothing to look at."""
    if family.method is Method.VALUE_BASED:
        return NotApplicable("replayed data are older than the policy by design")
    if family.method is Method.PREFERENCE:
        return NotApplicable("the data are given: no policy makes data during training")
    if family.data is Data.ON_POLICY and family.policy is Policy.CONTROL and family.method is Method.ACTOR_CRITIC:
        return NotApplicable("the policy that is trained makes its own data, in the same process and between updates")
    return NotMeasured(f"{what} not logged")
