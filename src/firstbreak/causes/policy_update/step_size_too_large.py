"""The updates are too large

## What happens
The learning rate, the number of epochs or the scale of the advantages moves the policy out of the region in which its
data mean anything. Divergence and clip fraction go first, then entropy, then the score. Values that are learned by
bootstrapping chase targets that move as fast as they do, and the score is lost at once.

## When it is healthy
Large steps with a score that rises and holds: aggressive, not broken.

## Fix
- Go back to the last good checkpoint; {learning_rate} divided by three to ten, or decayed to 0.
- Fewer {epochs_per_batch}; stop a batch's epochs at {target_kl}.
- Normalise advantages ({normalize_advantage}); clip gradients ({grad_clip}).

## Smallest experiment
Continue from the best checkpoint with {learning_rate} / 10 for a tenth of the run: a score that holds says that the
steps were too large.

## References
https://arxiv.org/abs/1707.06347
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

import numpy as np

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

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
EXPERIMENT = Experiment(
    id="rate-tenth",
    overrides={"learning_rate": "/10"},
    length=0.15,
    measure="kl.old",
    if_cause="is the score better than the original's at the same steps? yes",
    weight=2.3,
)


def facts(inputs: Inputs) -> list[Weight]:
    """A learning rate that hardly any published agent of on-policy methods uses (Stable-Baselines3 and CleanRL: 3e-4, 7e-4)."""
    logged = inputs.get("lr")
    rate = inputs.run.config.number("learning_rate")
    if logged is not None and len(logged.finite):
        rate = float(np.max(logged.finite.values))
    if rate is None or rate < FAST or inputs.get("writes_text"):
        return []
    return [Weight(finding="config", weight=3.0, text=f"the learning rate is {rate:g}, where 0.0003 to 0.001 is usual")]
