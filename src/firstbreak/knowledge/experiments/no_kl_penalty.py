"""Remove the KL penalty

## What is done
The weight of the KL divergence from the reference model is 0.

## What it tells
If the policy now moves away from the reference model much faster, the penalty had held it. If the score is better as well,
the penalty had held it back from a better policy.

## When it misleads
Without the penalty a reward model is over-optimised sooner. A short rise proves nothing about a long run.

## References
https://arxiv.org/abs/2210.10760
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import outruns
from firstbreak.knowledge.experiments._asked import ask, better_score

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"kl_coef": 0.0}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "does the policy move more than 1.5 times as far from its reference model as in the original run?",
        outruns("kl_ref", by=0.5),
        "kl-penalty-too-strong 0.9, healthy 0.03, otherwise 0.08",
    ),
    better_score(
        "kl-penalty-too-strong 0.4, reference-model-wrong 0.6, healthy 0.05, otherwise 0.08",
        than="the original run at the same steps",
    ),
)
