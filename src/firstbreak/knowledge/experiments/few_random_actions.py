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
from firstbreak.engine.questions import Question, outruns

FAMILIES = only(Method.VALUE_BASED)
OVERRIDES = {"exploration_initial?": 0.05, "exploration_final?": 0.05}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than in the original run at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={"too-many-random-actions": 0.85, "healthy": 0.1},
        otherwise=0.08,
    ),
)
