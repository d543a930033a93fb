"""The policy gets wrong observations

## What happens
Observations are late, incomplete, or on another scale than before: a buffer index, a wrapper, or normalisation statistics
that were lost on a resume. This limits the score that the policy can reach.

## When it is healthy
A hard task; partial observability that belongs to the task.

## Fix
- Replay recorded transitions: the stored observation must be the one that the environment returned.
- Save and load the normalisation statistics together with the model.

## Smallest experiment
Take a hundred steps with random actions. Count the components of the observation that change, and the steps until an action
shows.

actor_critic: Then fit the critic on one frozen rollout, once with the full state and once with what the policy sees. A
critic that is better with the full state shows that observations lack something.

## References
https://arxiv.org/abs/2101.00135
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.5
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
FINDINGS = {
    "observations-off": 0.8,
    "observations-constant": 0.1,
    "observations-unscaled": 0.3,
    "action-effect-moved": 0.3,
    "actions-without-effect": 0.15,
    "score-drops-at-once": 0.5,
    "reward-flat": 0.4,
    "score-lost": 0.5,
    "entropy-stays-high": 0.35,
    "critic-worse-than-mean": 0.2,
    "far-from-known-score": 0.6,
}
EXPERIMENT = ("critic-only", "environment-probe")
