"""Termination and truncation are confused

## What happens
Failures are reported as time limits, or time limits as failures. The value of the state after the end is then counted where
this value must be 0, or left out where the episode was only cut.

## When it is healthy
Tasks whose episodes never end early, so that both flags mean the same.

## Fix
- Check the order of terminated and truncated, and what the wrapper returns for each.
- Bootstrap from the value of the last state only where the episode was truncated.

## Smallest experiment
Print terminated and truncated for ten episodes that failed and ten that reached the time limit.

## References
https://arxiv.org/abs/1712.00378
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.4
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
FINDINGS = {
    "time-limits-vary": 0.8,
    "episodes-never-end": 0.2,
    "value-loss-vanishes": 0.7,
    "score-lost": 0.4,
    "value-loss-growing": 0.2,
    "critic-worse-than-mean": 0.3,
    "episode-length-degenerate": 0.15,
    "far-from-known-score": 0.4,
}
EXPERIMENT = "toy-reward"
