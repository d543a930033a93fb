"""Something else than the optimizer changes the weights.

## What it looks for
The recorder compares the weights at the beginning of an update with those at the end of the update before: all of them
where time is left, and a few elements of some between any two updates. The check reports where more than `above` of them
differ, or where the few were changed more than `times` times. Those of an earlier update are another check's.

## Why it matters
What an update learns is lost.

## When it is a false alarm
Averaged weights that are copied into the policy on purpose.

## Fix
- Look for callbacks that load, average or synchronise weights after a step.

## Smallest experiment
Compare a hash of the weights after one update with the hash before the next.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, NotMeasured, Role, Series

ROLES = (Role.PROOF,)


def detect(
    config: Config,
    proof_overwritten: Series | None = None,
    proof_changed_between: Series | None = None,
    proof_returned: Series | None = None,
    *,
    above: float = at(0.5, "share", "Single buffers may be rewritten."),
    times: int = at(1, "times", "Once may be on purpose, as after a conversion."),
) -> Finding | NotMeasured | None:
    if proof_overwritten is None and proof_changed_between is None:
        return NotMeasured("firstbreak.recorder() compared no weights")
    if proof_returned is not None and proof_returned.finite.values.any():
        return None
    what = "{value:%} of the weights change between two updates: look for a callback that loads weights"
    found = None if proof_overwritten is None else proved(proof_overwritten, config, what, above=above)
    if found is None and proof_changed_between is not None:
        what = (
            "something changes the weights between two updates, {value:n} times so far: look for a callback that does"
        )
        found = proved(proof_changed_between, config, what, above=times)
    return found
