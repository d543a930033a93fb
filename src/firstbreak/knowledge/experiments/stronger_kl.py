"""Use a strong KL penalty

## What is done
The weight of the KL penalty is 0.5, which is more than most runs use. The control arm keeps the original weight.

## What it tells
If the evaluation score holds while the control's falls, the policy had followed the reward further than the reward can be
trusted.

## When it misleads
A strong penalty stops all learning, and with it any damage, whatever causes the damage. If the original weight is larger
than 0.5, this experiment makes the penalty weaker.

## References
https://arxiv.org/abs/2210.10760
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import ends_above
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"kl_coef": 0.5, "eval_interval?": 1}
CONTROL = {"eval_interval?": 1}
LENGTH = 0.25
QUESTIONS = (
    ask(
        "is the evaluation score better than in the control arm?",
        ends_above("eval_score"),
        "reward-over-optimised 0.8, verifier-exploited 0.3, drift-without-gain 0.2, otherwise 0.05",
    ),
)
