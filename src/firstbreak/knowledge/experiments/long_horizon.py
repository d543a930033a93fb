"""Set the discount factor to 0.99

## What is done
The discount factor is 0.99.

## What it tells
If the score rises now, the rewards that matter come later than the old horizon reached.

## When it misleads
In episodes of a few steps a small discount factor is right.

## References
https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Method.ACTOR_CRITIC, Method.VALUE_BASED, UNKNOWN)
OVERRIDES = {"gamma": 0.99}
LENGTH = 0.15
QUESTIONS = (
    better_score("horizon-too-short 0.85, healthy 0.05, otherwise 0.08", than="the original run at the same steps"),
)
