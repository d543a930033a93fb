"""The importance weight of the update, or of old data, is not 1 on average.

Looks for: The mean ratio of the policy in the update to the policy before the update, over the second half of the run.
For samples of the old policy the expected ratio is exactly 1, however far the update goes. With one optimizer step per
batch ({updates_per_batch}) the ratio is 1 for every token or action, because both policies have the same weights. In
decoupled training also the mean weight of the proximal policy over the behaviour policy, which has the same
expectation, and the share of tokens whose weight lies outside the cap ({behave_weight_cap}).
Why: A mean that is not 1 says that the old log-probabilities do not belong to the policy that made the data: dropout,
another precision or temperature, or other positions. Or the weights are so heavy-tailed that a few samples decide the
batch. The clip then cuts the wrong samples. Where the correction for old data is far from 1, or its cap cuts many
tokens, it removes or distorts a part of the batch.
False alarm: Nondeterministic kernels and expert routing give a small constant offset. Some trainers average after
clipping or masking, which lowers the mean, or sum over the updates of a step. Then the share outside the cap is the
better number; a tight cap on purpose cuts more tokens.
Fix:
- One step per batch: compute old log-probabilities with dropout off, in the same precision and with the same
  {temperature}.
- Several steps per batch: use fewer of them ({updates_per_batch}), or a lower {learning_rate}.
- Mixture of experts: use deterministic algorithms, or replay the routing.
- Old data: lower {max_staleness}, set {behave_weight_cap} (5 is usual), and let the trainer compute the proximal
  log-probabilities again ({recompute_logprob}).
Experiment: One batch with {learning_rate} 0: the largest |ratio - 1| must be below 0.0001. If it is larger, the two
passes differ: compare their log-probabilities one by one. Old data: twenty steps with {max_staleness} 0. If the weight
returns to 1, the age of the data was the cause.
References: https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://huggingface.co/docs/trl/ppo_trainer https://arxiv.org/abs/1707.06347 https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/2110.00641
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.families import Family, Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import late_median
from firstbreak.knowledge.detectors._updates import recorded_updates
from firstbreak.knowledge.detectors.freshness._engines import nothing_recorded
from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Role, Run, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)

SUMMED = frozenset({"nemo_rl"})  #: trainers that log the sum over the updates of a step


def detect(
    run: Run,
    config: Config,
    family: Family,
    policy_ratio_mean: Series | None = None,
    behave_ratio_mean: Series | None = None,
    behave_ratio_cap_frac: Series | None = None,
    staleness_mean: Series | None = None,
    *,
    tolerance: float = at(5e-3, "ratio", "Rounding and nondeterministic kernels, with one optimizer step per batch."),
    tolerance_several_updates: float = at(0.02, "ratio", "Heavy tails of healthy updates, several steps per batch."),
    tolerance_old_data: float = at(0.03, "ratio", "A mean weight of old data this close to 1 is fine."),
    sure: float = at(0.15, "ratio", "Five times what a fine mean weight of old data may be off."),
    deviation_critical: float = at(0.5, "ratio", "Samples then count half as much again, or half."),
    max_share: float = at(0.1, "share", "A cap that cuts more tokens removes a part of the batch."),
    share_critical: float = at(0.5, "share", "The cap then cuts half of the batch."),
    min_points: int = at(4, "points", "Fewer ratios show no level."),
) -> Finding | NotApplicable | NotMeasured | None:
    logged = [s for s in (policy_ratio_mean, behave_ratio_mean, behave_ratio_cap_frac) if s is not None and s.finite]
    if not logged:
        return nothing_recorded(family, "no importance weight is")
    if max(len(s.finite) for s in logged) < min_points:
        return NotMeasured(f"fewer than {min_points} importance weights are logged")
    ratios, weights, capped = (
        s.finite if s is not None and len(s.finite) >= min_points else None
        for s in (policy_ratio_mean, behave_ratio_mean, behave_ratio_cap_frac)
    )
    updates = config.number("updates_per_batch")
    allowed = tolerance if updates == 1 else tolerance_several_updates
    summed = updates if run.trainer in SUMMED and updates else 1.0
    if ratios and min(abs(late_median(ratios, 0.5) / each - 1) for each in (1.0, summed)) > allowed:
        return _of_update(ratios, config, family.policy, allowed, deviation_critical)
    off = abs(late_median(weights, 0.5) - 1) if weights else 0.0
    share = late_median(capped, 0.5) if capped else 0.0
    if off <= tolerance_old_data and share <= max_share:
        return None
    if capped and share / max_share >= off / tolerance_old_data:
        curve, limit, onset = capped, max_share, first_sustained(capped, lambda values: values > max_share)
        what = facts.tell(
            "{share:%} of the {samples} have a behaviour weight outside the cap",
            share=facts.median(capped.tail(0.5)),
            samples="tokens" if family.policy is Policy.TEXT else "samples",
        )
    else:
        assert weights is not None
        curve, limit = weights, 1.0
        onset = first_sustained(curve, lambda values: np.abs(values - 1) > tolerance_old_data)
        what = facts.tell(
            "the behaviour weight averages {late} in the second half, instead of 1",
            late=facts.median(weights.tail(0.5)),
        )
    severe = off >= deviation_critical or share >= share_critical
    return graded(
        Severity.CRITICAL if severe else Severity.WARNING,
        "{what}: the data are too old, or come from another distribution; train 20 steps on fresh data only, and check "
        "whether the value returns",
        seen_since(curve, what, onset, level=limit, beside={"age of the data": staleness_mean}),
        what=what,
        confidence=Confidence.HIGH if severe or off >= sure else Confidence.MEDIUM,
        numbers={"off": off, "capped": share},
    )


def _of_update(ratios: Series, config: Config, policy: Policy, allowed: float, deviation_critical: float) -> Finding:
    """The mean ratio of the update is not 1."""
    late = late_median(ratios, 0.5)
    single = config.number("updates_per_batch") == 1
    severe = abs(late - 1) >= deviation_critical
    certain = severe or (single and "updates_per_batch" not in config.defaulted)
    began = first_sustained(ratios, lambda values: np.abs(values - 1) > allowed)
    return graded(
        Severity.CRITICAL if severe else Severity.WARNING,
        "the importance weight averages {late} in the second half and {should}: the old log-probabilities do not belong "
        "to the policy that made the data{few}; {remedy}",
        seen_since(ratios, f"mean ratio {number(late)}", began, level=1.0),
        late=facts.median(ratios.tail(0.5)),
        should="must be exactly 1 with one step per batch" if single else "should be 1 on average",
        few="" if single else ", or a few samples decide the batch",
        remedy=_remedy(recorded_updates(config), policy),
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        numbers={"ratio": late, "single_update": single},
    )


def _remedy(updates: float | None, policy: Policy) -> str:
    """What to try first: with one step per batch only the two passes can differ, with several the updates as well."""
    check = "run one batch with a learning rate of 0, and check the largest |ratio - 1|"
    experts = "; a mixture of experts needs deterministic algorithms, or the recorded routing"
    once = check + (experts if policy is Policy.TEXT else "")
    if updates == 1:
        return once
    return f"use fewer minibatches per batch; with a single one the ratio must be exactly 1: if not, {once}"
