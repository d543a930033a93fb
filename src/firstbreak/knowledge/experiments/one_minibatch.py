"""Take one optimizer step on each batch

## What is done
The batch is not split into minibatches, so no step uses data from a policy that an earlier step has changed. The control
arm keeps the original minibatches.

## What it tells
The ratios are 1 by construction. If the score rises now, the change of the policy within the batch had spoiled it.

## When it misleads
Fewer steps learn more slowly: a flat score says little.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)  # methods with a ratio of two policies
OVERRIDES = {"minibatches": 1, "epochs_per_batch?": 1}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    better_score(
        "clip-missing 0.8, old-log-probabilities-wrong 0.7, step-size-too-large 0.4, healthy 0.05, otherwise 0.08"
    ),
)
