"""The environment changed in mid-run

## What happens
Another version of a simulator, a tool or an interface, or another data stage: from one step to the next the same
behaviour earns something else, while nothing in the updates moved before.

## When it is healthy
A curriculum that is meant to become harder.

## Fix
- Compare versions and settings of the environment before and after the step.
- Evaluate a checkpoint from before the step in today's environment.

## Smallest experiment
Evaluate the checkpoint from before the step twice, in the old and in the new environment.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "action-effect-moved": 0.7,
    "observations-off": 0.1,
    "score-drops-at-once": 0.8,
    "score-lost": 0.75,
    "value-loss-growing": 0.2,
    "entropy-stays-high": 0.2,
    "evaluation-protocol-shift": 0.15,
    "far-from-known-score": 0.4,
}
EXPERIMENT = Experiment(
    id="zero-rate",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="eval.reward",
    if_cause="does the reward or the score move although the weights stand still? yes",
    weight=2.7,
)
