"""Outages are graded as failures of the policy

## What happens
A judge times out or a sandbox is down, and the completion gets a reward of 0. The training reward falls at once while the
policy is as good as before. Every such reward pushes the policy away from right answers.

## When it is healthy
A curriculum that goes on to harder problems.

## Fix
- Leave samples without a grade out of the loss, and count them.
- Let the grader try again before it gives up; set an alarm on the share of missing grades.

## Smallest experiment
Grade twenty completions with reward 0 again with a grader that works: those that pass now were outages.

## References
https://arxiv.org/abs/2505.22203
"""

from firstbreak.engine.families import GRADED, Policy, only

PRIOR = 0.4
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies whose answers are graded by something outside
FINDINGS = {
    "right-completions-no-longer-paid": 0.8,
    "reward-down-evaluation-up": 0.85,
    "right-answers-unpaid": 0.4,
    "zero-variance-groups": 0.5,
    "score-lost": 0.5,
}
EXPERIMENT = "zero-rate"
