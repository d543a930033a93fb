"""Explore more

## What is done
The exploration of a value-based method is raised, with the option that its trainer has: a final epsilon of 0.1, twice the
action noise, or half the (negative) target entropy. The control arm keeps the original settings.

## What it tells
If the score rises, the policy had stopped exploring too early.

## When it misleads
The training reward is lower while the policy explores more. Look at an evaluation without exploration.

## References
https://arxiv.org/abs/1312.5602
https://arxiv.org/abs/1812.05905
"""

from firstbreak.engine.families import Method, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Method.VALUE_BASED)
OVERRIDES = {"exploration_final?": 0.1, "action_noise?": "x2", "target_entropy?": "/2"}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (better_score("premature-convergence 0.5, reward-never-found 0.2, healthy 0.05, otherwise 0.05"),)
