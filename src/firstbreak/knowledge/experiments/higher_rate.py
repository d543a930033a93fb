"""Use three times the learning rate

## What is done
The learning rate is three times as high. Everything else stays.

## What it tells
If the score is better at the same steps, the steps were too small. If it is not, try another base model next.

## When it misleads
A rate that is too high for the whole run may still be better in its first steps.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.knowledge.experiments._asked import better_score

OVERRIDES = {"learning_rate": "x3"}
LENGTH = 0.15
THEN = {"no": ("other-model",)}
QUESTIONS = (
    better_score(
        "signal-too-weak 0.5, updates-rounded-away schedule-too-short 0.4, step-size-too-large 0.02, healthy 0.3, "
        "otherwise 0.15",
        than="the original run with three times the learning rate",
    ),
)
