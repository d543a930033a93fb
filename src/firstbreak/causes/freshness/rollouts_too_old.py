"""The policy trains on data of an older policy

## What happens
Rollouts lag behind the learner by several updates and are treated as fresh. Ratios leave 1, the clip throws away what
matters, and the update direction is that of a policy that no longer exists.

## When it is healthy
Staleness within its bound, with importance weights close to 1 and a score that rises.

## Fix
- Switch to synchronous training to see whether it helps: {max_staleness} = 0.
- Lower {max_staleness}; correct with bounded behaviour weights ({behave_weight_cap}).
- Fewer {minibatches} per batch.

## Smallest experiment
Synchronous settings ({max_staleness} = 0) for a tenth of the run from the last good checkpoint.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

OLD = 4  #: versions; AReaL trains well with up to 8 if the loss is decoupled, others with 1 to 2
FINDINGS = {
    "staleness-uncorrected": 0.5,
    "stale-rollouts": 0.7,
    "behave-weight-off": 0.6,
    "importance-weight-off": 0.3,
    "clip-fraction-high": 0.3,
    "score-lost": 0.3,
    "score-oscillates": 0.2,
}
EXPERIMENT = Experiment(
    id="synchronous",
    overrides={"max_staleness": 0},
    length=0.3,
    measure="kl.ref",
    if_cause="does the policy drift from its reference less than half as far with fresh data? yes",
    weight=2.4,
)


def facts(inputs: Inputs) -> list[Weight]:
    """How old the data may be by plan."""
    age = inputs.run.config.number("max_staleness")
    if age is None or "max_staleness" in inputs.run.config.defaulted:
        return []
    if age >= OLD:
        return [Weight(finding="config", weight=1.5, text=f"data may be {age:g} versions old")]
    return [Weight(finding="config", weight=-3.0 if age <= 1 else 0.0, text=f"data may be {age:g} versions old")]


def applies(inputs: Inputs) -> bool:
    """Policies that write text, and any whose data comes from elsewhere: a loop that collects its own rollout has no age."""
    run = inputs.run
    elsewhere = any(name.startswith(("staleness", "behave", "rollout_train")) for name in run.series)
    return bool(inputs.get("writes_text")) or elsewhere or run.config.number("max_staleness") is not None
