"""Check that the first ratio of an update is 1

## What is done
One minibatch and one epoch for each batch, without asynchronous rollouts: each update is the first update on its data.

## What it tells
Before the first step on a batch, the policy is the one that made the batch. The ratio is then exactly 1, and nothing is
clipped. A different ratio means that the stored and the computed log-probabilities do not belong together: a different
sampler, a different temperature, weights that were not delivered, or old data.

## When it misleads
Dropout, and mixture-of-experts models without deterministic routing.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import is_off
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)  # methods with a ratio of two policies
OVERRIDES = {"minibatches?": 1, "epochs_per_batch?": 1, "max_staleness?": 0, "use_decoupled_loss?": False}
QUESTIONS = (
    ask(
        "does the ratio of the first update on a batch differ from 1?",
        is_off({"policy_ratio_mean": 1.0, "policy_ratio_max": 1.0, "policy_clip_fraction": 0.0}, tolerance=0.02),
        "dropout-active 0.9, engines-disagree sampling-differs-from-scoring 0.95, sampler-differs-from-policy 0.85, "
        "weights-not-delivered 0.9, otherwise 0.03",
    ),
)
