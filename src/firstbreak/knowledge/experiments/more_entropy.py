"""Add a small entropy bonus

## What is done
The weight of the entropy bonus is 0.01. The control arm keeps the original weight.

## What it tells
If the entropy holds and the score rises, the policy had stopped exploring too early.

## When it misleads
In language models, a bonus that is too strong adds noise.

## References
https://arxiv.org/abs/2505.22617
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import beats
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)  # methods with an entropy bonus in the loss
OVERRIDES = {"entropy_coef": 0.01}
CONTROL: dict[str, object] = {}
LENGTH = 0.075
QUESTIONS = (
    ask(
        "is the entropy of the policy higher than in the control arm?",
        beats("policy_entropy"),
        "premature-convergence 0.75, entropy-bonus-too-strong 0.01, otherwise 0.15",
    ),
    ask(
        "is the score better than in the control arm?",
        beats("score"),
        "premature-convergence entropy-bonus-too-strong 0.5, otherwise 0.05",
    ),
)
