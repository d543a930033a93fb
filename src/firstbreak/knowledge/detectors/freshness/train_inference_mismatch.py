"""Inference engine and trainer disagree about the probability of a token.

Looks for: The distance between the engine that generates and the trainer that updates, on the same tokens: their KL
divergence, the difference of their probabilities or log-probabilities, their correlation. The median over the second
half of the run is compared with the levels at which runs are known to train well. And growth of any such distance, to
at least `growth_warning` times its own early level, or from exactly 0, up to a level that matters.
Why: The update assumes that the data came from the trainer's policy. If the engine samples from another distribution,
every ratio is wrong, most of all for rare tokens, and the gradient is biased. Such runs look healthy for a long time,
and then collapse suddenly. Numerical differences give a constant distance. A distance that grows says that the engine
does not receive the weights (a synchronisation that misses a step, an adapter that is never delivered, a cache that
survives the update), or that the policy moves towards tokens on which the engines differ most.
False alarm: One of the two logs probabilities after temperature or top-p, and the other before: the correlation is then
poor, and the divergence is fine. In asynchronous training the numbers contain staleness as well, and the divergence of
old data has a limit of its own. A steady level that an
importance weight ({is_correction}) corrects while the score rises is a cost, and not a break. Growth from nothing to
almost nothing is not reported. Longer completions, and a policy that spreads its probability, raise the distance a
little.
Fix:
- Check first for different inputs: both sides need the same token ids, template, position ids and adapters.
- Compare a checksum of the weights on both sides after a synchronisation, adapters included, and reset the prefix cache at
  every weight update.
- Use the same {precision} in both engines. A mixture of experts also needs the same routing.
- Use the same {temperature} and {top_p} when log-probabilities are computed.
- Turn on {is_correction} with a cap ({is_cap}). Lower {max_staleness}, to see whether growth comes from the age of the data.
Experiment: Score one batch of generated tokens with the trainer before any update: the weights are equal, so every
difference is numerical. Then repeat this with the engine in eager mode and in full precision. If the distance grows:
continue from the last checkpoint with {learning_rate} 0 for 20 steps. If it still grows, the fault is in the rollout;
if not, in the update.
References: https://verl.readthedocs.io/en/latest/faq/faq.html
https://github.com/verl-project/verl/blob/main/docs/algo/rollout_corr.md https://arxiv.org/abs/2510.26788
https://arxiv.org/abs/2510.11370 https://github.com/huggingface/trl/issues/5312
https://github.com/PrimeIntellect-ai/prime-rl/issues/1650 https://github.com/allenai/open-instruct/issues/1473
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_as, seen_since
from firstbreak.engine.families import Family, Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors._growth import Growth, appearance, growth
from firstbreak.knowledge.detectors.freshness._engines import nothing_recorded
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.values import dataclass, replace
from firstbreak.words import number

EITHER_SCORE = True
ROLES = (Role.RELATION,)


# The levels come from the trainers' own documentation. verl calls a difference of probabilities below 0.005 normal and above
# 0.01 a problem, and warns at |KL| > 0.1. NeMo-RL accepts a divergence below 0.001 and plots from a multiplicative error of
# 1.05 on. slime's tests allow a difference of log-probabilities of 0.1. The tinker cookbook calls KL < 0.01 stable.
def detect(
    family: Family,
    trajectory: Trajectory | None = None,
    engines_kl: Series | None = None,
    rollout_train_logp_absdiff_mean: Series | None = None,
    rollout_train_prob_absdiff_mean: Series | None = None,
    rollout_train_mult_prob_error: Series | None = None,
    rollout_train_js: Series | None = None,
    rollout_train_prob_pearson: Series | None = None,
    first_ratio: Series | None = None,
    behave_kl: Series | None = None,
    *,
    kl_warning: float = at(0.01, "nats per token", "A smaller KL divergence is called stable.", "tinker cookbook"),
    kl_critical: float = at(0.1, "nats per token", "verl warns at this KL divergence.", "verl: docs/algo/rollout_corr"),
    logp_warning: float = at(0.1, "nats", "Less passes slime's tests.", "slime: tests"),
    logp_critical: float = at(0.5, "nats", "Probabilities then differ by a factor of 1.6 on average."),
    probability_warning: float = at(0.01, "probability", "More is a problem.", "verl: docs/faq"),
    probability_critical: float = at(0.05, "probability", "Five times what is called a problem."),
    probability_error_warning: float = at(0.05, "ratio", "NeMo-RL plots from 1.05 on.", "NeMo-RL: docs"),
    probability_error_critical: float = at(0.5, "ratio", "Probabilities then differ by half on average."),
    jensen_shannon_warning: float = at(0.005, "nats per token", "Half of what is fine for a KL divergence."),
    jensen_shannon_critical: float = at(0.05, "nats per token", "Half of what is critical for a KL divergence."),
    correlation_warning: float = at(0.05, "correlation", "Missing to 1: the two engines rank tokens alike."),
    correlation_critical: float = at(0.5, "correlation", "Missing to 1: half of the agreement is lost."),
    first_ratio_warning: float = at(0.01, "ratio", "Before a step it is 1; the rest is rounding."),
    first_ratio_critical: float = at(0.1, "ratio", "No rounding differs by a tenth."),
    first_clip_warning: float = at(0.005, "share", "Before a step nothing is clipped."),
    first_clip_critical: float = at(0.1, "share", "No rounding clips a tenth of the samples."),
    old_data_warning: float = at(0.2, "nats per token", "A few versions of age are far less."),
    old_data_critical: float = at(0.5, "nats per token", "Five times where verl warns."),
    min_level: float = at(0.2, "share", "Of the distance that is fine: below it even a large growth does not matter."),
    growth_warning: float = at(3.0, "ratio", "Numerical differences give a constant distance."),
    growth_critical: float = at(10.0, "ratio", "Ten times as far apart as at the start."),
    zero_points: int = at(5, "points", "A distance that is exactly 0 for so long appears when it leaves 0."),
    growth_points: int = at(16, "points", "Fewer points show no growth."),
    min_points: int = at(3, "points", "Fewer points show no level."),
) -> Finding | NotApplicable | NotMeasured | None:
    clipped = first_ratio is not None and first_ratio.name.startswith("policy.clip_fraction")
    gauged = (
        (engines_kl, 0.0, kl_warning, kl_critical),
        (rollout_train_logp_absdiff_mean, 0.0, logp_warning, logp_critical),
        (rollout_train_prob_absdiff_mean, 0.0, probability_warning, probability_critical),
        (rollout_train_mult_prob_error, 1.0, probability_error_warning, probability_error_critical),
        (rollout_train_js, 0.0, jensen_shannon_warning, jensen_shannon_critical),
        (rollout_train_prob_pearson, 1.0, correlation_warning, correlation_critical),
        (first_ratio, 0.0, first_clip_warning, first_clip_critical)
        if clipped
        else (first_ratio, 0.0, first_ratio_warning, first_ratio_critical),
        (behave_kl, 0.0, old_data_warning, old_data_critical),
    )
    text = family.policy is Policy.TEXT
    between = f"the distance between {'inference engine' if text else 'rollout worker'} and trainer"
    recorded = [_Reading(curve, *gauge) for curve, *gauge in gauged if curve is not None and len(curve.finite)]
    if not recorded:
        return nothing_recorded(family, f"{between} is")
    long_enough = [reading for reading in recorded if len(reading.distance) >= min_points]
    if not long_enough:
        return NotMeasured(f"no {between.removeprefix('the ')} has {min_points} points")
    grown = [
        (found, reading)
        for reading in long_enough
        if (found := _grown(reading.distance, growth_warning, min_level, zero_points, growth_points)) is not None
    ]
    worst = max(long_enough, key=_level)
    alone = worst.series is rollout_train_prob_pearson and any(_level(reading) <= 1 for reading in long_enough)
    learning = trajectory is not None and trajectory.learned and not trajectory.lost
    at_once = max((_from_first(reading) for reading in long_enough), default=0.0)
    severity = Severity.NOTICE if alone or _level(worst) <= 1 else _severity(worst, learning and at_once < 1)
    if drift := _drift(grown, growth_critical, between, severity):
        return drift
    if _level(worst) <= 1:
        return None
    doubt = (
        "; the other distances are fine, so check first whether one side logs its probabilities before the temperature"
        if alone
        else ""
    )
    #: before any update both have the same weights: nothing that ages them explains a distance
    gap = [r.distance for r in long_enough if r.series is rollout_train_logp_absdiff_mean]
    begun = any(distance.steps[0] <= 1 and distance.values[0] >= BEGUN for distance in gap)
    onset = first_sustained(worst.distance, lambda values: values > 1)
    return graded(
        severity,
        "{curve} is {value} in the second half, {times} times as far from {perfect} as in runs that are known to train "
        "well{doubt}; score one generated batch with the trainer before any update, and compare {one_by_one}",
        seen_as(
            worst.series.name,
            onset,
            drawn=tuple(
                Evidence(text=f"{r.series.name}, {number(_level(r))} times the distance that is fine", series=r.series)
                for r in long_enough
            ),
        ),
        curve=worst.series.name,
        value=facts.median(worst.series.finite.tail(0.5)),
        times=number(_level(worst)),
        perfect=number(worst.perfect),
        doubt=doubt,
        one_by_one="token by token" if text else "action by action",
        confidence=Confidence.LOW if alone else Confidence.HIGH if begun or len(long_enough) > 1 else Confidence.MEDIUM,
        numbers={"level": _level(worst), "alone": alone},
    )


@dataclass(frozen=True, eq=False)
class _Reading:
    """A recorded curve, and how it measures the distance of the two engines: |value - perfect|."""

    series: Series
    perfect: float  #: what two equal engines give
    warning: float  #: distance up to which runs are known to train well
    critical: float  #: distance from which the two engines are two policies

    @property
    def distance(self) -> Series:
        """The distance of the engines at each step, in units of the distance that is fine."""
        points = self.series.finite
        return replace(points, values=np.abs(points.values - self.perfect) / self.warning)


def _level(reading: _Reading) -> float:
    return float(np.median(reading.distance.tail(0.5).values))


def _from_first(reading: _Reading) -> float:
    """How far apart the engines are in the first step, where both have the same weights, in halves of what is critical."""
    first = reading.distance
    return float(first.values[0]) * 2 * reading.warning / reading.critical if first.steps[0] <= 1 else 0.0


def _severity(worst: _Reading, learning: bool) -> Severity:
    """A distance with which the score rises is a cost; without a rise it is a break."""
    if _level(worst) >= worst.critical / worst.warning:
        return Severity.WARNING if learning else Severity.CRITICAL
    return Severity.NOTICE if learning else Severity.WARNING


def _drift(
    grown: list[tuple[Growth, _Reading]], growth_critical: float, between: str, level: Severity
) -> Finding | None:
    """The distance that grew the most, as severe as its growth or its level; None where noise may be all there is."""
    if not grown:
        return None
    worst, reading = max(grown, key=lambda pair: pair[0].times)
    if (began := worst.since()) is None:
        return None
    what = f"grew {number(worst.times)} times" if np.isfinite(worst.times) else "appeared, after it had been 0"
    growing = Severity.CRITICAL if worst.times >= growth_critical and worst.late > 1 else Severity.WARNING
    return graded(
        max(growing, level, key=lambda severity: severity.rank),
        f"{between} ({reading.series.name}) {what}, to {number(worst.late)} times what is known to train well; compare a "
        "checksum of the weights on both sides after a synchronisation",
        seen_since(reading.series, what, *began),
        confidence=Confidence.HIGH if len(grown) > 1 or worst.late > 1 else Confidence.MEDIUM,
        numbers={"growth": worst.times, "level": worst.late},
    )


BEGUN = 2.0  #: times the distance that is fine, at the first step (convention)
FINE = 0.1  #: of the late distance, of a log that begins with the run (convention)
NOTHING = 1e-4  #: of the late distance: what two passes over the same weights differ by


def _grown(
    distance: Series, growth_warning: float, min_level: float, zero_points: int, growth_points: int
) -> Growth | None:
    if len(distance) < growth_points:
        return None
    found = appearance(distance, zero_points) or _from_nothing(distance) or growth(distance, growth_points)
    return found if found is not None and found.times >= growth_warning and found.late >= min_level else None


def _from_nothing(distance: Series) -> Growth | None:
    """A distance that is rounding at the first step, where both sides have the same weights, and grows from there on. Or one
    that was small there, and is beyond what trains well since."""
    first, late = float(distance.values[0]), float(np.median(distance.tail(0.25).values))
    middle = float(np.median(distance.head(0.25).values))
    from_start = float(distance.steps[0]) <= 2 * float(distance.steps[1] - distance.steps[0])
    fine = 0 < first < FINE * late and late > 1 and from_start and first <= float(distance.values[1:4].min())
    if not fine and (not 0 <= first < NOTHING * late or late < 2 * middle):
        return None
    return Growth(distance, early=max(first, NOTHING * late), late=late, appears=float(distance.steps[1]))
