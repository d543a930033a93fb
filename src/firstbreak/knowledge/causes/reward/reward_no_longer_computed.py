"""The reward became a constant

## What happens
From some step on every answer gets the same reward: an exception is caught and a default returned, a judge or a sandbox is
gone, a column of the data is no longer filled. Advantages are 0, and what still moves the policy is noise, penalties and bonuses.

## When it is healthy
A task that is solved, at its highest reward.

## Fix
- Call the reward function on samples from before and after that step.
- Let it raise an error, or return an explicit "no grade", where it returns a default today.
- Go back to the last checkpoint before that step.

## Smallest experiment
Run a tenth of the run with a learning rate of nearly 0 from the checkpoint before that step: a reward that is constant again
comes from the reward function.

## References
https://andyljones.com/posts/rl-debugging.html
"""

from firstbreak.engine.families import Method, without

PRIOR = 0.3
FAMILIES = without(Method.SUPERVISED)
FINDINGS = {
    "reward-constant": 0.95,
    "score-lost": 0.5,
    "reward-down-evaluation-up": 0.3,
    "zero-variance-groups": 0.3,
    "gradient-vanished": 0.3,
}
EXPERIMENT = "zero-rate"
