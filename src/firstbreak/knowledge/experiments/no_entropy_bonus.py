"""Remove the entropy bonus

## What is done
The weight of the entropy bonus is 0.

## What it tells
If the entropy falls and the score rises, the bonus was stronger than the reward.

## When it misleads
Without a bonus some runs converge too early. Look at the score, not only at the entropy.

## References
https://arxiv.org/abs/2408.15150
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)
OVERRIDES = {"entropy_coef": 0.0}
LENGTH = 0.15
QUESTIONS = (
    better_score(
        "entropy-bonus-too-strong 0.85, premature-convergence 0.5, healthy 0.05, otherwise 0.08",
        than="the original run at the same steps",
    ),
)
