"""A restart loads an old checkpoint, or none

## What happens
A restart, a callback or a watchdog loads the oldest checkpoint, the best one by a wrong measure, or one whose names do not fit.
The training goes on from there, and what was learned since is lost.

## When it is healthy
A return to the best checkpoint on purpose, after a fall.

## Fix
- Sort checkpoints by step as numbers: `checkpoint-90` comes after `checkpoint-100` as text.
- Log the step of each checkpoint that is loaded.

## Smallest experiment
Stop the run, restart it, and compare the first score with the last one before.

## References
https://huggingface.co/docs/transformers/main_classes/trainer
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import measured_inside

PRIOR = 0.3
FAMILIES = without(Method.SUPERVISED)  # only where a policy is updated on samples
applies = measured_inside("returned", "resumed_otherwise")
FINDINGS = {
    "old-weights-loaded": 0.7,
    "resumed-with-other-weights": 0.3,
    "score-lost": 0.3,
    "reward-flat": 0.3,
}
EXPERIMENT = "toy-reward"
