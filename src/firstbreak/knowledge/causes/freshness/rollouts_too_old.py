"""The policy trains on data of an older policy

## What happens
Rollouts are several updates older than the policy and are treated as fresh. Ratios leave 1, the clip cuts the samples that
matter, and the update follows what was good for a policy that no longer exists.

## When it is healthy
Staleness within its limit, with importance weights close to 1 and a score that rises.

## Fix
- Switch to synchronous training to see whether this helps: {max_staleness} = 0.
- Lower {max_staleness}, and correct with bounded behaviour weights ({behave_weight_cap}).
- actor_critic, group_relative: Use fewer {minibatches} per batch.

## Smallest experiment
Continue from the last good checkpoint for a tenth of the run with synchronous settings ({max_staleness} = 0): if the policy
drifts less and the score rises, the data were too old.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.engine.common_settings import Side
from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.knowledge.causes.freshness._elsewhere import data_from_elsewhere
from firstbreak.model import Weight

OLD = 4  #: versions; AReaL trains well with up to 8 if the loss is decoupled, others with 1 to 2
applies = data_from_elsewhere
FINDINGS = {
    "samples-beyond-age": 0.9,
    "staleness-uncorrected": 0.5,
    "stale-rollouts": 0.7,
    "behave-weight-off": 0.6,
    "importance-weight-off": 0.3,
    "clip-fraction-high": 0.3,
    "update-size-extreme": 0.15,
    "score-lost": 0.3,
    "score-oscillates": 0.2,
    "update-jumps": 0.3,
}
SETTINGS = {"max_staleness": Side.HIGH}
EXPERIMENT = "synchronous"


def weights(inputs: Inputs) -> list[Weight]:
    """How old the data may be by plan."""
    age = inputs.run.config.number("max_staleness")
    if age is None or "max_staleness" in inputs.run.config.defaulted:
        return []
    weight = 1.5 if age >= OLD else -3.0 if age <= 1 else 0.0
    return [configured("config", weight, f"data may be {age:g} versions old")]
