"""The importance weight of the update is not 1 on average.

## What it looks for
The mean ratio of the policy in the update to the policy before it, over the second half of the run. Sampled from the
old policy, its expectation is exactly 1 however far the update goes. With one optimizer step per batch
({updates_per_batch}) it is 1 in every token, because both policies are the same weights.

## Why it matters
A mean off 1 says that the old log-probabilities do not belong to the policy that made the data: dropout, another
precision or temperature, other positions, or weights so heavy-tailed that a few tokens own the batch. The clip then
cuts the wrong tokens.

## When it is a false alarm
Nondeterministic kernels and expert routing give a small constant offset. Some trainers average after clipping or
masking, which pulls the mean below 1, or sum over the updates of a step.

## Fix
- One step per batch: compute old log-probabilities with dropout off, in the same precision and with the same
  {temperature}.
- Several steps per batch: fewer of them ({updates_per_batch}), or a lower {learning_rate}.
- Mixture of experts: deterministic algorithms, or replay of the routing.

## Smallest experiment
One batch with {learning_rate} 0: the largest |ratio - 1| must be below 0.0001. If it is not, the two passes differ;
compare their log-probabilities token by token.

## References
https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://huggingface.co/docs/trl/ppo_trainer
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotMeasured, Run, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number

EXACT = 5e-3  #: rounding and nondeterministic kernels, with one step per batch
CLOSE = 0.02  #: heavy tails of healthy updates, with several
SUMMED = frozenset({"nemo_rl"})  #: trainers that log the sum over the updates of a step


def detect(
    run: Run,
    policy_ratio_mean: Series,
    config: Config,
    *,
    drastic: float = 0.5,
    min_points: int = 4,
) -> Finding | NotMeasured | None:
    ratios = policy_ratio_mean.finite
    if len(ratios) < min_points:
        return NotMeasured(f"{len(ratios)} ratios are too few (needs {min_points})")
    updates = config.number("updates_per_batch")
    single = updates == 1
    allowed = EXACT if single else CLOSE
    late = float(np.median(ratios.tail(0.5).values))
    if run.trainer in SUMMED and updates and abs(late / updates - 1) <= allowed:
        return None
    if abs(late - 1) <= allowed:
        return None
    onset = first_sustained(ratios, lambda values: np.abs(values - 1) > allowed)
    should = "must be exactly 1 with one step per batch" if single else "has an expectation of 1"
    severe = abs(late - 1) >= drastic
    certain = severe or (single and "updates_per_batch" not in config.defaulted)
    return Finding(
        message=(
            f"the importance weight averages {number(late)} and {should}: the old log-probabilities are not those of "
            "the policy that made the data; run one batch with a learning rate of 0 and look at the largest |ratio - 1|"
        ),
        severity=Severity.CRITICAL if severe else Severity.WARNING,
        confidence=Confidence.HIGH if certain else Confidence.MEDIUM,
        metric="policy.ratio.mean",
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=(Evidence(text=f"mean ratio {number(late)}", series=policy_ratio_mean, since=onset, level=1.0),),
        facts={"ratio": late, "single_update": single},
    )
