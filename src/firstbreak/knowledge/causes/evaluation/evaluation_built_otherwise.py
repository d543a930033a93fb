"""The evaluation environment differs from the training environment

## What happens
Normalisation statistics that are not shared, another wrapper or frame skip, or another version. A policy that does well in
training does badly in the evaluation, from the first evaluation on.

## When it is healthy
Training with another reward on purpose (a shaped reward), or an evaluation that is harder on purpose.

## Fix
- Build both environments with one function, copy the normalisation statistics into the evaluation environment, and freeze
  the statistics there.
- Print one observation of each environment with the same seed.

## Smallest experiment
Evaluate the checkpoint in the training environment, without learning. If the score is that of training, the evaluation
environment is different.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/vec_envs.html#vecnormalize
"""

from firstbreak.engine.families import Policy, only
from firstbreak.knowledge.causes._evidence import evaluated

PRIOR = 0.5
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
FINDINGS = {
    "evaluation-left-behind": 0.9,
    "reward-up-evaluation-down": 0.3,
}
EXPERIMENT = "locked-evaluation"
applies = evaluated
