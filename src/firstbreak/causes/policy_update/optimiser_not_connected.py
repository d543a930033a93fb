"""The update does not reach the weights

## What happens
The learning rate is 0, the trained parameters are frozen or not the ones that generate, the gradient is cut, or an
off-policy learner is still to begin when the run ends. Everything upstream works, and nothing changes.

## When it is healthy
The last steps of a schedule that ends at 0.

## Fix
- Check {learning_rate} and its schedule, the trainable parameters, and the optimiser's parameter groups.
- With adapters: check that they are attached, trained and sent to the engine.
- Off-policy: lower {learning_starts}. With one gradient clip for policy and critic: normalise returns.

## Smallest experiment
Hash the weights before and after one update.

## References
https://github.com/verl-project/verl/issues/7495
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.6
FINDINGS = {
    "no-update": 0.9,
    "gradient-vanished": 0.6,
    "reward-flat": 0.8,
    "entropy-stays-high": 0.4,
    "far-from-known-score": 0.8,
}
EXPERIMENT = Experiment(
    id="wrecked",
    overrides={"learning_rate": "x300"},
    length=0.1,
    measure="reward.mean",
    if_cause="does the training reward collapse? no",
    weight=2.9,
)


def facts(inputs: Inputs) -> list[Weight]:
    """A learning rate of 0 settles it."""
    rate = inputs.run.config.number("learning_rate")
    return [Weight(finding="config", weight=4.0, text="the learning rate is 0")] if rate == 0 else []
