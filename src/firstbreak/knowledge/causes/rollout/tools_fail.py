"""Tools or the infrastructure of the rollouts fail

## What happens
Tool calls fail for reasons outside the policy. If failed calls are scored as wrong answers, the policy learns to avoid tools.
If they are scored as right answers, the policy learns to make calls fail.

## When it is healthy
Syntax errors in the first steps that the policy unlearns.

## Fix
- Read ten failed calls, and separate errors of the policy from errors of the infrastructure.
- Leave trajectories with infrastructure errors out of the batch.

## Smallest experiment
Replay fifty logged calls without a policy. Calls that fail again are a fault of the tool.

## References
https://arxiv.org/abs/2504.13958
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import calls_tools

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
applies = calls_tools
FINDINGS = {
    "tool-errors": 0.95,
    "zero-variance-groups": 0.3,
    "score-lost": 0.6,
    "reward-down-evaluation-up": 0.05,
}
EXPERIMENT = "zero-rate"
