"""The importance weight of the update is not 1 on average.

## What it looks for
The mean ratio of the policy in the update to the policy before the update, over the second half of the run. For samples
of the old policy the expected ratio is exactly 1, however far the update goes. With one optimizer step per batch
({updates_per_batch}) the ratio is 1 for every token or action, because both policies have the same weights.

## Why it matters
A mean that is not 1 says that the old log-probabilities do not belong to the policy that made the data: dropout, another
precision or temperature, or other positions. Or the weights are so heavy-tailed that a few samples decide the batch. The
clip then cuts the wrong samples.

## When it is a false alarm
Nondeterministic kernels and expert routing give a small constant offset. Some trainers average after clipping or
masking, which lowers the mean, or sum over the updates of a step.

## Fix
- One step per batch: compute old log-probabilities with dropout off, in the same precision and with the same
  {temperature}.
- Several steps per batch: use fewer of them ({updates_per_batch}), or a lower {learning_rate}.
- Mixture of experts: use deterministic algorithms, or replay the routing.

## Smallest experiment
One batch with {learning_rate} 0: the largest |ratio - 1| must be below 0.0001. If it is larger, the two passes differ:
compare their log-probabilities one by one.

## References
https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://huggingface.co/docs/trl/ppo_trainer
https://arxiv.org/abs/1707.06347
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.knowledge.detectors._updates import recorded_updates
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Run, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)

SUMMED = frozenset({"nemo_rl"})  #: trainers that log the sum over the updates of a step


def detect(
    run: Run,
    policy_ratio_mean: Series,
    config: Config,
    policy: Policy = Policy.CONTROL,
    *,
    tolerance: float = at(5e-3, "ratio", "Rounding and nondeterministic kernels, with one optimizer step per batch."),
    tolerance_several_updates: float = at(
        0.02, "ratio", "Heavy tails of healthy updates, with several optimizer steps per batch."
    ),
    deviation_critical: float = at(0.5, "ratio", "Samples then count half as much again, or half."),
    min_points: int = at(4, "points", "Fewer ratios show no level."),
) -> Finding | NotMeasured | None:
    ratios = policy_ratio_mean.finite
    if len(ratios) < min_points:
        return NotMeasured(f"{len(ratios)} ratios are too few (needs {min_points})")
    updates = config.number("updates_per_batch")
    single = updates == 1
    allowed = tolerance if single else tolerance_several_updates
    late = float(np.median(ratios.tail(0.5).values))
    if run.trainer in SUMMED and updates and abs(late / updates - 1) <= allowed:
        return None
    if abs(late - 1) <= allowed:
        return None
    onset = first_sustained(ratios, lambda values: np.abs(values - 1) > allowed)
    should = "must be exactly 1 with one step per batch" if single else "should be 1 on average"
    severe = abs(late - 1) >= deviation_critical
    certain = severe or (single and "updates_per_batch" not in config.defaulted)
    return Finding(
        message=facts.tell(
            "the importance weight averages {late} in the second half and {should}: the old log-probabilities do not belong "
            "to the policy that made the data{few}; {remedy}",
            late=facts.median(ratios.tail(0.5)),
            should=should,
            few="" if single else ", or a few samples decide the batch",
            remedy=_remedy(recorded_updates(config), policy),
        ),
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        **seen_since(policy_ratio_mean, f"mean ratio {number(late)}", onset, level=1.0),
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
