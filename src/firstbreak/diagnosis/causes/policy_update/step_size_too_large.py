"""The updates are too large

## What happens
The learning rate, the number of epochs or the scale of the advantages moves the policy so far that its data no longer
describe it. First KL divergence and clip fraction rise, then the entropy changes, then the score falls. Values that are
learned by bootstrapping follow targets that move as fast as the values do, and the score is lost at once.

## When it is healthy
Large steps with a score that rises and holds: the settings are aggressive, but nothing is broken.

## Fix
- Go back to the last good checkpoint. Divide {learning_rate} by three to ten, or decay {learning_rate} to 0.
- actor_critic, group_relative: Lower {epochs_per_batch}; stop the epochs of a batch early at {target_kl}.
- actor_critic: Normalise advantages ({normalize_advantage}).
- group_relative: Normalise the rewards of a group ({scale_rewards}).
- value_based: Update the target network more slowly: lower {tau}, or raise {target_update_interval}.
- Clip gradients ({grad_clip}).

## Smallest experiment
Continue from the best checkpoint with {learning_rate} / 10 for a tenth of the run: if the score holds, the steps were too
large.

## References
https://arxiv.org/abs/1707.06347
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

import numpy as np

from firstbreak.diagnosis.families import Policy
from firstbreak.diagnosis.inputs import Inputs
from firstbreak.model import Weight, WeightKind

PRIOR = 1.5
FAST = 0.02  #: for the network of an agent; adaptive optimisers take steps of about this size in every weight
FINDINGS = {
    "learning-rate-jump": 0.4,
    "step-too-large": 0.75,
    "clip-fraction-high": 0.6,
    "kl-reward": 0.3,
    "grad-norm-explosion": 0.3,
    "entropy-collapse": 0.3,
    "score-lost": 0.8,
    "score-oscillates": 0.3,
    "members-apart": 0.4,
    "far-from-known-score": 0.3,
}
EXPERIMENT = "rate-tenth"


def facts(inputs: Inputs) -> list[Weight]:
    """A learning rate that hardly any published agent of on-policy methods uses (Stable-Baselines3 and CleanRL: 3e-4, 7e-4)."""
    logged = inputs.lr
    rate = inputs.run.config.number("learning_rate")
    if logged is not None and len(logged.finite):
        rate = float(np.max(logged.finite.values))
    if rate is None or rate < FAST or (inputs.policy is Policy.TEXT):
        return []
    return [
        Weight(
            kind=WeightKind.CONFIGURATION,
            finding="config",
            weight=3.0,
            text=f"the learning rate is {rate:g}, where 0.0003 to 0.001 is usual",
        )
    ]
