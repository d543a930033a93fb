"""Nothing bounds the ratio of an update

## What happens
The clip is missing or so wide that it never acts, and the batch is used again and again. Each pass moves the policy
further from the data.

## When it is healthy
One update per batch: the ratio is 1 and there is nothing to clip.

## Fix
- Set {clip_range} to 0.2; fewer {epochs_per_batch}.
- Watch the largest ratio, not its mean.

## Smallest experiment
{clip_range} = 0.2 from the last good checkpoint for a tenth of the run.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "clip-never-acts": 0.8,
    "step-too-large": 0.6,
    "importance-weight-off": 0.5,
    "entropy-collapse": 0.3,
    "score-lost": 0.6,
}
EXPERIMENT = Experiment(
    id="tight-clip",
    overrides={"clip_range": 0.2},
    length=0.15,
    measure="policy.ratio.max",
    if_cause="do ratios stay smaller than the control's? yes",
    weight=2.4,
)


def applies(inputs: Inputs) -> bool:
    """Only where a policy is updated on its own samples."""
    return not inputs.get("supervised")
