"""Longer completions get more reward

## What happens
Longer completions get more reward whatever they say. The policy writes more, the reward rises, completions reach the
length limit, and the true score falls.

## When it is healthy
Length that grows while an independent evaluation rises: more reasoning because it helps.

## Fix
- Find the component that grows with length, and correct it for length.
- Add a length penalty or a measure of information density, and compare in a short run.
- Go back to the checkpoint with the best evaluation.

## Smallest experiment
Score the same completions with the last third cut off. If the reward falls while the answers stay right, the reward grows
with length.

## References
https://arxiv.org/abs/2310.03716
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import paid_less_as_it_grew
from firstbreak.knowledge.causes.reward._exploited import reward_lost

PRIOR = 1.2
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "right-completions-unpaid": 0.5,
    "repetition-paid": 0.8,
    "reward-proxy-only": 0.4,
    "length-runaway": 0.85,
    "reward-up-evaluation-down": 0.8,
    "truncation": 0.4,
    "kl-reward": 0.25,
    "score-lost": 0.5,
    "length-jump": 0.3,
    "repetition-growing": 0.3,
}
REFUTED_BY = (paid_less_as_it_grew,)
EXPERIMENT = "shorter-answers"
weights = reward_lost
