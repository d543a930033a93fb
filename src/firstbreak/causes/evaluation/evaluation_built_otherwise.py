"""The evaluation shows the policy another environment than training

## What happens
Normalisation statistics that are not shared, another wrapper or frame skip, another version: the policy that does well in
training is lost where it is evaluated, from the first evaluation on.

## When it is healthy
Training that is paid for something else on purpose (a shaped reward), or an evaluation that is harder on purpose.

## Fix
- Build both environments with one function; copy the normalisation statistics into the evaluation's, and freeze them.
- Print one observation of each from the same seed.

## Smallest experiment
Evaluate the checkpoint in the training environment without learning.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/vec_envs.html#vecnormalize
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.5
FINDINGS = {
    "evaluation-left-behind": 0.9,
    "reward-up-evaluation-down": 0.3,
}
EXPERIMENT = Experiment(
    id="locked-evaluation",
    overrides={"learning_rate": 0.0, "eval_interval": 1},
    length=0.1,
    measure="eval.reward",
    if_cause="does training score above the evaluation although both play one policy? yes",
    weight=2.3,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that act in an environment and are evaluated."""
    return inputs.get("eval_score") is not None and not inputs.get("writes_text")
