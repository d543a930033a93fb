"""Sample at temperature 1 without top-p or min-p

## What is done
Temperature 1, top-p 1 and min-p 0, in the rollout and wherever log-probabilities are computed again.

## What it tells
If the score rises now, the completions of a prompt were too similar before, or the log-probabilities belonged to a different
distribution.

## When it misleads
If the difference is in the code and not in a setting, nothing changes.

## References
https://arxiv.org/abs/2503.14476
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"temperature": 1.0, "top_p?": 1.0, "min_p?": 0.0}
LENGTH = 0.15
QUESTIONS = (
    better_score(
        "sampling-too-cold 0.85, premature-convergence 0.2, sampling-differs-from-scoring 0.6, healthy 0.05, otherwise 0.08",
        than="the original run at the same steps",
    ),
)
