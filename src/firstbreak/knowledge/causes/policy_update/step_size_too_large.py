"""The updates are too large

## What happens
The learning rate, the number of epochs or the scale of the advantages moves the policy so far that its data no longer
describe it. First KL divergence and clip fraction rise, then the entropy changes, then the score falls. Values that are
learned by bootstrapping follow targets that move as fast as the values do, and the score is lost at once.

## When it is healthy
Large steps with a score that rises and holds: the settings are aggressive, but nothing is broken.

## Fix
- Divide {learning_rate} by three to ten, or decay {learning_rate} to 0.
- actor_critic, group_relative: Lower {epochs_per_batch}; stop the epochs of a batch early at {target_kl}.
- actor_critic: Normalise advantages ({normalize_advantage}).
- group_relative: Normalise the rewards of a group ({scale_rewards}).
- value_based: Update the target network more slowly: lower {tau}, or raise {target_update_interval}.
- Clip gradients ({grad_clip}).
- Go back to the last good checkpoint.

## Smallest experiment
Continue from the best checkpoint with {learning_rate} / 10 for a tenth of the run: if the score holds, the steps were too
large.

## References
https://arxiv.org/abs/1707.06347
https://arxiv.org/abs/2005.12729
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.refutations import no_update

PRIOR = 1.5
FINDINGS = {
    "step-far": 0.6,
    "rate-above-configured": 0.4,
    "learning-rate-jump": 0.4,
    "step-too-large": 0.75,
    "clip-fraction-high": 0.6,
    "update-size-extreme": 0.5,
    "kl-reward": 0.3,
    "far-from-reference": 0.3,
    "grad-norm-explosion": 0.3,
    "entropy-collapse": 0.3,
    "score-lost": 0.8,
    "score-oscillates": 0.3,
    "members-apart": 0.4,
    "preference-saturated": 0.4,
    "preference-loss-above-chance": 0.4,
    "far-from-known-score": 0.3,
    "reward-swings": 0.2,
}
SETTINGS = {
    "learning_rate": Side.HIGH,
    "epochs_per_batch": Side.HIGH,
    "clip_range": Side.HIGH,
    "tau": Side.HIGH,
    "target_update_interval": Side.LOW,
    "normalize_advantage": Side.OFF,
    "scale_rewards": Side.OFF,
    "grad_clip": Side.OFF,
}
REFUTED_BY = (no_update,)
EXPERIMENT = "rate-tenth"
