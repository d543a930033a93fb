"""The reward is at its top before anything is learned

## What happens
Nearly every completion gets the highest reward from the start: the verifier accepts too much, or the prompts are too easy.
Within a group all rewards are equal, so advantages are 0. The reward looks excellent, and no update changes the policy.

## When it is healthy
A policy that has solved these prompts, with an independent evaluation that is as high.

## Fix
- Grade ten completions by hand: if the reward is wrong, make the verifier stricter.
- If the reward is right, use harder prompts; leave out those that are always solved.
- Reward the part that still differs between completions, such as a harder test or a finer grade.

## Smallest experiment
Score the right answers of other prompts: if these get the reward as well, the verifier is too loose. If they do not, the
prompts are too easy.

## References
https://arxiv.org/abs/2503.14476
"""

from firstbreak.engine.families import GRADED, Policy, only

PRIOR = 0.4
FAMILIES = only(Policy.TEXT, *GRADED)  # only rewards of texts have a top that a check can know
FINDINGS = {
    "right-completions-unpaid": 0.5,
    "empty-text-paid": 0.3,
    "reward-at-ceiling": 0.9,
    "zero-variance-groups": 0.5,
    "reward-flat": 0.5,
}
EXPERIMENT = "reward-probe"
