"""Empty or short completions are rewarded

## What happens
An empty or very short completion gets as much reward as an honest attempt, or avoids a penalty. The policy ends its turn
at once, and nothing is left to learn from.

## When it is healthy
Answers that become shorter while an independent evaluation rises.

## Fix
- Give an empty completion the lowest reward of all.
- Check length penalties, and the loss on the end-of-text token.

## Smallest experiment
Score an empty completion, an honest wrong one and a right one: the rewards must rise in this order, with clear
differences.

## References
https://arxiv.org/abs/2209.13085
"""

from firstbreak.engine.families import GRADED, Policy, only

FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "length-collapse": 0.95,
    "empty-text-paid": 0.5,
    "score-lost": 0.5,
    "reward-up-evaluation-down": 0.4,
    "entropy-collapse": 0.3,
    "zero-variance-groups": 0.3,
    "outputs-alike": 0.3,
    "length-jump": 0.3,
}
EXPERIMENT = "reward-probe"
