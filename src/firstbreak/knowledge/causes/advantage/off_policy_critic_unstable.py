"""The critic of the off-policy method is unstable

## What happens
Bootstrapped targets, function approximation and old data together have no guarantee. The critic overestimates, forgets
what is rare in the buffer, or follows a target that changes too fast, and the policy follows the critic.

## When it is healthy
A loss that grows with the size of the values while the return is at its maximum. One bad evaluation among good ones.

## Fix
- Update the target network more slowly ({target_update_interval}); lower {learning_rate}.
- Use a larger buffer ({buffer_size}) and batch; use two critics and take the smaller value.
- Keep the checkpoint with the best evaluation.
- control: Evaluate on more episodes.

## Smallest experiment
Continue from the best checkpoint with {learning_rate} / 10. If the score stays, the critic was the break. Print the mean
value beside the mean return.

## References
https://arxiv.org/abs/1812.02648
https://arxiv.org/abs/1802.09477
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Method, only

PRIOR = 2.0
FAMILIES = only(Method.VALUE_BASED)  # only methods that learn a value from a replay buffer
FINDINGS = {
    "score-lost": 0.6,
    "score-oscillates": 0.6,
    "value-loss-growing": 0.35,
    "value-explosion": 0.3,
    "evaluation-noise": 0.2,
    "members-apart": 0.6,
}
SETTINGS = {
    "learning_rate": Side.HIGH,
    "buffer_size": Side.LOW,
    "target_update_interval": Side.LOW,
    "tau": Side.HIGH,
    "gamma": Side.HIGH,
}
EXPERIMENT = "rate-tenth"
