"""Act with few random actions

## What is done
The share of random actions (epsilon) is 0.05 from the first step to the last one. Everything else stays.

## What it tells
If the score is better at the same steps, random actions had hidden what the policy can do.

## When it misleads
From the start of a run, a policy that never explored may learn less; resume a run that has learned.

## References
https://arxiv.org/abs/1312.5602
"""

from firstbreak.engine.families import Method, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Method.VALUE_BASED)
OVERRIDES = {"exploration_initial?": 0.05, "exploration_final?": 0.05}
LENGTH = 0.15
QUESTIONS = (
    better_score(
        "too-many-random-actions 0.85, healthy 0.1, otherwise 0.08", than="the original run at the same steps"
    ),
)
