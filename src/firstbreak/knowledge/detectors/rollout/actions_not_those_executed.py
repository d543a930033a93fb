"""The actions that are trained are not those that were executed.

## What it looks for
The recorder compares the actions that a loop stores for its update with those that the wrapped environment was given, where
they are choices. The check reports where more than `above` of them differ.

## Why it matters
The update credits an action with what another one did.

## When it is a false alarm
None known.

## Fix
- Draw an action once: a second call of `sample()` is another draw.
- Look for a shift by one step between the arrays of actions and of observations.

## Smallest experiment
Print the stored action and the argument of `env.step` for ten steps.

## References
https://gymnasium.farama.org/api/env/
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_action_other: Series,
    config: Config,
    *,
    above: float = at(0.01, "share", "Choices are equal or not."),
) -> Finding | None:
    what = "{value:%} of the stored actions are not those that the environment was given: draw each action once"
    return proved(proof_action_other, config, what, above=above)
