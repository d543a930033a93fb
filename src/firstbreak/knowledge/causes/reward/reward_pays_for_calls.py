"""Tool calls are rewarded for themselves

## What happens
Each call brings a bonus, so the policy calls until the limit of calls is reached. The reward rises with the calls, the
share of solved problems does not, and answers come late or not at all.

## When it is healthy
Harder problems that need more calls: then the share of solved problems rises too.

## Fix
- Reward the outcome alone, or the first useful call and no other.
- Subtract a small cost for each call.

## Smallest experiment
Set the bonus to 0 for a tenth of the run: the number of calls must fall, and the success rate must stay.

## References
https://arxiv.org/abs/2504.11536
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import calls_tools
from firstbreak.knowledge.causes.reward._exploited import reward_lost

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that call tools
applies = calls_tools
FINDINGS = {
    "reward-range-changed": 0.3,
    "tool-calls-growing": 0.9,
    "truncation": 0.4,
    "length-runaway": 0.3,
    "reward-proxy-only": 0.3,
}
weights = reward_lost
EXPERIMENT = "shorter-answers"
