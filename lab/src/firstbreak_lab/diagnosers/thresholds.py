"""Plain thresholds: the alert rules of a typical dashboard, with the limits that guides and forums recommend.

The first rule that is broken gives the link and the onset. A critical rule means stop.
"""

from dataclasses import dataclass

import numpy as np

from firstbreak.model import Link, Run, Series
from firstbreak_lab.diagnosers import DiagnoserAnswer

GIVES = frozenset({"stop", "link", "onset"})
IN_A_ROW = 3  #: points in a row beyond the limit, so that one outlier gives no alert


@dataclass(frozen=True)
class ThresholdRule:
    """A limit for one or more signals."""

    signals: tuple[str, ...]
    link: Link
    above: float = np.inf
    below: float = -np.inf
    critical: bool = False

    def broken_at(self, series: Series) -> float | None:
        """The first step of the first IN_A_ROW points beyond the limit."""
        with np.errstate(invalid="ignore"):
            beyond = (series.values > self.above) | (series.values < self.below)
        runs = np.convolve(beyond, np.ones(IN_A_ROW), "valid") if len(beyond) >= IN_A_ROW else np.zeros(0)
        hits = np.flatnonzero(runs >= IN_A_ROW)
        return float(series.steps[hits[0]]) if len(hits) else None


RULES = (
    ThresholdRule(("tool.failure_freq", "tool.invalid_frac"), Link.ROLLOUT, above=0.3),
    ThresholdRule(("length.clipped_ratio",), Link.ROLLOUT, above=0.3),
    ThresholdRule(("reward.zero_std_frac",), Link.ADVANTAGE, above=0.8),
    ThresholdRule(("value.explained_variance",), Link.ADVANTAGE, below=0.0),
    ThresholdRule(("policy.clip_fraction",), Link.POLICY_UPDATE, above=0.3),
    ThresholdRule(("kl.old.k3", "kl.old", "kl.old.k1"), Link.POLICY_UPDATE, above=0.05),
    ThresholdRule(("kl.ref.k3", "kl.ref", "kl.ref.k1"), Link.POLICY_UPDATE, above=0.5),
    ThresholdRule(("policy.entropy",), Link.EXPLORATION, below=0.05),
    ThresholdRule(("staleness.mean",), Link.FRESHNESS, above=4.0),
    ThresholdRule(("rollout_train.kl", "rollout_train.kl.k1", "rollout_train.kl.k3"), Link.FRESHNESS, above=0.01),
    ThresholdRule(("grad.norm",), Link.NUMERICS, above=100.0, critical=True),
)
WATCHED_FOR_NAN = ("loss.total", "policy.loss", "value.loss", "grad.norm", "reward.mean")
SCORES = ("eval.reward", "eval.accuracy", "reward.mean")
LOST = 0.5  #: share of the gain since the start that a score may lose


def answer(run: Run) -> DiagnoserAnswer:
    """The first rule that the run breaks."""
    broken = [
        (step, rule.link.order, rule.link, rule.critical)
        for rule in RULES
        for series in [next((run.series[name] for name in rule.signals if name in run.series), None)]
        if series is not None and (step := rule.broken_at(series)) is not None
    ]
    broken += [
        (float(series.steps[bad[0]]), Link.NUMERICS.order, Link.NUMERICS, True)
        for name in WATCHED_FOR_NAN
        if (series := run.series.get(name)) is not None and len(bad := np.flatnonzero(~np.isfinite(series.values)))
    ]
    score = next((run.series[name] for name in SCORES if name in run.series), None)
    if score is not None and (step := lost_at(score)) is not None:
        broken.append((step, Link.POLICY_UPDATE.order, Link.POLICY_UPDATE, True))
    if not broken:
        return DiagnoserAnswer(found=False, critical=False)
    step, _, link, _ = min(broken)
    critical = any(serious for *_, serious in broken)
    return DiagnoserAnswer(found=True, critical=critical, stop=critical, link=link.value, onset=step)


def lost_at(score: Series) -> float | None:
    """The step from which a score stays below half of its largest gain. None if it does not."""
    finite = score.finite
    if len(finite) < 2 * IN_A_ROW:
        return None
    best = np.maximum.accumulate(finite.values)
    low = finite.values < best - LOST * (best - finite.values[0])
    low &= best > finite.values[0]
    if not low[-IN_A_ROW:].all():
        return None
    steady = np.flatnonzero(~low)
    return float(finite.steps[steady[-1] + 1])
