"""How far the inference engine and the trainer are apart, one gauge per recorded quantity.

The levels come from the trainers' own documentation: verl calls a probability difference below 0.005 normal and above
0.01 a problem and warns at |KL| > 0.1 (docs/faq, docs/algo/rollout_corr); NeMo-RL accepts a divergence below 0.001 and
plots above a multiplicative error of 1.05 (docs/guides/grpo); slime's tests allow a log-probability difference of 0.1;
the tinker cookbook calls KL < 0.01 stable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firstbreak.model import NotApplicable, NotMeasured, Run, Series


@dataclass(frozen=True)
class Gauge:
    """One way to measure the distance of the two engines: |value - perfect|."""

    perfect: float  #: what two equal engines give
    fine: float  #: distance up to which runs are known to train well
    bad: float  #: distance from which the two engines are two policies


GAUGES = {
    "rollout_train.kl": Gauge(0.0, 0.01, 0.1),
    "rollout_train.logp_absdiff.mean": Gauge(0.0, 0.1, 0.5),
    "rollout_train.prob_absdiff.mean": Gauge(0.0, 0.01, 0.05),
    "rollout_train.mult_prob_error": Gauge(1.0, 0.05, 0.5),
    "rollout_train.js": Gauge(0.0, 0.005, 0.05),
    "rollout_train.prob_pearson": Gauge(1.0, 0.05, 0.5),
    # Before the first step of an update these are 0 by identity; the lab's engines without a fault give exactly 0.
    "policy.ratio.absdev": Gauge(0.0, 0.01, 0.1),
    "policy.clip_fraction": Gauge(0.0, 0.005, 0.1),
}


@dataclass(frozen=True, eq=False)
class Reading:
    """A recorded curve with its gauge."""

    series: Series
    gauge: Gauge

    @property
    def distance(self) -> Series:
        """The distance of the engines at each step, in units of what is fine."""
        points = self.series.finite
        return replace(points, values=np.abs(points.values - self.gauge.perfect) / self.gauge.fine)


def readings(*recorded: Series | None) -> list[Reading]:
    """The curves that were recorded and hold a number, each with its gauge."""
    return [Reading(s, _gauge(s.name)) for s in recorded if s is not None and len(s.finite)]


def _gauge(name: str) -> Gauge:
    """`rollout_train.kl.k3` is read like `rollout_train.kl`, a slice like the whole."""
    name = name.partition("@")[0]
    return GAUGES[name] if name in GAUGES else GAUGES[name.rpartition(".")[0]]


def nothing_recorded(run: Run, family: str | None, writes_text: bool | None, what: str) -> NotApplicable | NotMeasured:
    """Why a check of data freshness has nothing to look at."""
    if family == "value_based":
        return NotApplicable("replayed data are older than the policy by design")
    if family == "preference":
        return NotApplicable("the data are given: no policy makes them during training")
    if family == "on_policy" and not writes_text and run.algorithm not in ("impala", "appo"):
        return NotApplicable("the policy that is trained makes its own data, in the same process and between updates")
    return NotMeasured(f"{what} not logged")
