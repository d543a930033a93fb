"""The update does not reach the weights

## What happens
The learning rate is 0, the trained parameters are frozen or are not the ones that act, the gradient is cut, or an
off-policy learner has not begun when the run ends. Data and rewards are right, and nothing changes.

## When it is healthy
The last steps of a schedule that ends at 0.

## Fix
- Check {learning_rate} and its schedule, the trainable parameters, and the parameter groups of the optimizer.
- text: With adapters: check that they are attached, trained, and sent to the inference engine.
- value_based: Lower {learning_starts}, so that learning begins long before the run ends.
- actor_critic: If policy and critic share one gradient clip, normalise the rewards ({normalize_reward}).

## Smallest experiment
Compare a hash of the weights before and after one update: if both are equal, no update arrives. Or train for a tenth of the
run with {learning_rate} times 300: if the score does not collapse, no update arrives.

## References
https://github.com/verl-project/verl/issues/7495
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.refutations import learned

PRIOR = 0.6
FINDINGS = {
    "weights-left-out": 0.5,
    "most-weights-frozen": 0.5,
    "pairs-not-told-apart": 0.3,
    "weights-overwritten": 0.1,
    "rate-never-reached": 0.3,
    "gradient-clipped-away": 0.8,
    "no-update": 0.9,
    "gradient-vanished": 0.6,
    "reward-flat": 0.8,
    "entropy-stays-high": 0.4,
    "far-from-known-score": 0.8,
}
SETTINGS = {"learning_rate": Side.LOW, "learning_starts": Side.HIGH, "normalize_reward": Side.OFF}
REFUTED_BY = (learned,)
EXPERIMENT = "wrecked"
