"""Other actions are stored than were executed

## What happens
The action is drawn twice, clipped or shifted by a step between the environment and the buffer. The update credits actions with
what others did, and learns nothing.

## When it is healthy
Continuous actions that are clipped to the allowed range for the environment alone.

## Fix
- Draw each action once, store that one, and hand the same array to `env.step`.

## Smallest experiment
Print the stored action and the argument of `env.step` for ten steps.

## References
https://gymnasium.farama.org/api/env/
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import measured_inside

PRIOR = 0.3
FAMILIES = only(Policy.CONTROL)  # only policies that act in an environment
applies = measured_inside("action_other")
FINDINGS = {
    "actions-not-those-executed": 0.95,
    "reward-at-floor": 0.4,
    "reward-flat": 0.5,
    "entropy-stays-high": 0.3,
    "episode-length-degenerate": 0.2,
}
EXPERIMENT = "toy-reward"
