"""The samples of one prompt are all the same

## What happens
Every worker starts from the same seed, sampling is greedy, or the temperature is near 0. The completions of a prompt are
copies, so their rewards are equal, and no prompt gives an advantage to learn from.

## When it is healthy
Short answers of a solved task: the answers agree because they are right.

## Fix
- Give every sample its own seed.
- Check that rollouts are sampled, not decoded greedily: {temperature}, {top_p}, {top_k}.

## Smallest experiment
Sample one prompt 32 times, and count the distinct completions.

## References
https://arxiv.org/abs/2310.06452
"""

from firstbreak.engine.families import GRADED, Policy, only

PRIOR = 0.7
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "samples-copied": 0.8,
    "samples-too-sure": 0.1,
    "samples-identical": 0.8,
    "zero-variance-groups": 0.8,
    "outputs-alike": 0.3,
    "no-update": 0.4,
    "gradient-vanished": 0.4,
    "entropy-stays-high": 0.3,
    "ratio-always-one": 0.2,
}
EXPERIMENT = "reward-probe"
