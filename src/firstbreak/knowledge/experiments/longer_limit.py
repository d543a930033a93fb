"""Allow longer completions, without learning

## What is done
Completions may be four times as long, and the learning rate is 0. The control arm keeps the old length limit.

## What it tells
If the same weights get a higher reward, the old limit cut completions off.

## When it misleads
A policy that never stops uses any limit. Look at the share of completions that end by themselves.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import beats
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"max_new_tokens": "x4", "learning_rate": 0.0}
CONTROL = {"learning_rate": 0.0}
LENGTH = 0.07
QUESTIONS = (
    ask(
        "is the reward higher when completions may be longer?",
        beats("reward_mean"),
        "length-limit-too-short 0.93, reward-pays-for-length 0.3, sampler-differs-from-policy 0.2, "
        "end-not-learned 0.02, otherwise 0.03",
    ),
)
