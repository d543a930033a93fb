"""Nothing bounds the ratio of an update

## What happens
The clip is missing, or so wide that it never acts, and each batch is used again and again. Each pass moves the policy
further away from the data.

## When it is healthy
One update per batch: the ratio is 1 and there is nothing to clip.

## Fix
- actor_critic, group_relative: Set {clip_range} to 0.2, and lower {epochs_per_batch}.
- Go back to the last good checkpoint, and lower {learning_rate}.
- actor_critic, group_relative: Watch the largest ratio, not its mean.

## Smallest experiment
Continue from the last good checkpoint for a tenth of the run with one change: the score must hold.

actor_critic, group_relative: Set {clip_range} to 0.2. The largest ratio must then stay near 1.

value_based, preference: Divide {learning_rate} by ten.

## References
https://arxiv.org/abs/1707.06347
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Method, without
from firstbreak.engine.refutations import no_update

PRIOR = 0.4
FAMILIES = without(Method.SUPERVISED)  # only where a policy is updated on its own samples
FINDINGS = {
    "gradient-beyond-clip": 0.9,
    "clip-never-acts": 0.8,
    "step-too-large": 0.6,
    "importance-weight-off": 0.5,
    "update-size-extreme": 0.3,
    "entropy-collapse": 0.3,
    "score-lost": 0.6,
}
SETTINGS = {"clip_range": Side.HIGH, "epochs_per_batch": Side.HIGH}
REFUTED_BY = (no_update,)
EXPERIMENT = ("tight-clip", "rate-tenth")
