"""Use rollouts of the newest weights only

## What is done
No asynchronous rollouts: every batch is made by the weights that it trains, with the plain loss and the log-probabilities
of the inference engine.

## What it tells
If the policy had moved far from its reference model and now stays near it, old data had driven it, or the correction for
their age. A slightly better score says less: fresh data help healthy runs as well.

## When it misleads
This also stops everything else that runs beside the training. A machine that was overloaded recovers too.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
https://arxiv.org/abs/2505.24298
"""

from firstbreak.engine.families import Method, Policy, only, without
from firstbreak.engine.questions import outruns
from firstbreak.knowledge.experiments._asked import ask, better_score

FAMILIES = without(Method.SUPERVISED)
OVERRIDES = {"max_staleness": 0, "recompute_logprob?": False, "use_decoupled_loss?": False}
LENGTH = 0.3
QUESTIONS = (
    ask(
        "does the policy move less than half as far from its reference model with fresh data?",
        outruns("kl_ref", -1, by=0.5),
        "rollouts-too-old behaviour-weights-uncapped 0.85, healthy 0.05, otherwise 0.08",
        families=only(Policy.TEXT),
    ),
    better_score(
        "rollouts-too-old 0.85, behaviour-weights-uncapped 0.7, healthy 0.4, otherwise 0.3",
        than="the original run with fresh data",
    ),
)
