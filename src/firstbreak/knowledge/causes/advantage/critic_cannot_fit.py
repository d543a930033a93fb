"""The critic does not fit the returns

## What happens
Explained variance stays at or below 0: the advantages are as noisy as the returns themselves, and the policy follows this
noise.

## When it is healthy
The highest possible reward: equal returns have no variance to explain, and explained variance says nothing.

## Fix
- Normalise rewards or returns.
- Raise the critic's learning rate ({value_learning_rate}) or its epochs; use a larger critic; do not share layers with the
  policy.
- text: Check the mask of padding and prompt tokens in the value loss.
- control: Check the bootstrap at time limits and the mask of terminal states.

## Smallest experiment
Freeze one batch of rollouts and train only the critic on this batch: the critic must fit these returns.

## References
https://arxiv.org/abs/1506.02438
https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine.families import UNKNOWN, Method, only

FAMILIES = only(Method.ACTOR_CRITIC, UNKNOWN)  # only methods with a critic for advantages
FINDINGS = {
    "critic-worse-than-mean": 0.85,
    "value-loss-growing": 0.4,
    "value-scale-mismatch": 0.4,
    "value-explosion": 0.2,
    "score-oscillates": 0.3,
    "reward-flat": 0.35,
    "score-lost": 0.25,
    "far-from-known-score": 0.3,
    "critic-not-learning": 0.2,
}
EXPERIMENT = "critic-only"
