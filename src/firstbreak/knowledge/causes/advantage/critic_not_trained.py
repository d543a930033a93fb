"""The critic is not trained

## What happens
The value loss has no weight, the critic is not in the optimizer, or its gradient is cut. The critic stays as it was
initialised: the value loss does not fall, explained variance stays near 0, and the advantages keep all noise of the returns.
The policy still learns, slowly.

## When it is healthy
Returns that nothing in the observation predicts: then no critic can explain them.

## Fix
- Raise {value_coef}, if it is near 0.
- Check that the critic's parameters are in an optimizer whose learning rate is not 0 ({value_learning_rate}).
- Compare the critic's weights before and after one update: they must differ.

## Smallest experiment
Freeze one batch of rollouts and train only the critic on this batch: a value loss that does not fall at all is one that
reaches no weight.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import UNKNOWN, Method, only

PRIOR = 0.4
FAMILIES = only(Method.ACTOR_CRITIC, UNKNOWN)  # only methods with a critic for advantages
FINDINGS = {
    "critic-left-out": 0.6,
    "critic-rate-gone": 0.8,
    "critic-not-learning": 0.9,
    "critic-worse-than-mean": 0.2,
    "score-lost": 0.3,
    "reward-flat": 0.4,
}
SETTINGS = {"value_coef": Side.LOW}
EXPERIMENT = "critic-only"
