"""Use four times the batch

## What is done
Each update learns from four times as many samples. Everything else stays.

## What it tells
If the score is better at the same number of updates, the noise of the updates had hidden the signal. If it is not, try a
higher learning rate next.

## When it misleads
Four times the batch costs four times the samples, and helps many healthy runs as well. A small gain is no cause.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
https://arxiv.org/abs/1812.06162
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.knowledge.experiments._asked import better_score

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"batch_size": "x4"}
THEN = {"no": ("higher-rate",)}
QUESTIONS = (
    better_score("signal-too-weak 0.6, healthy 0.4, otherwise 0.25", than="the original run with four times the batch"),
)
