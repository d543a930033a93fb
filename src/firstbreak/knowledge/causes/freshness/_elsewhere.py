"""Which runs can learn from old data at all."""

from __future__ import annotations

from firstbreak.engine.families import DECOUPLED, Policy
from firstbreak.engine.inputs import Inputs


def data_from_elsewhere(inputs: Inputs) -> bool:
    """Policies that write text, and any whose data comes from elsewhere: a loop that collects its own rollout has no age."""
    run = inputs.run
    recorded = any(name.startswith(("staleness", "behave", "rollout_train")) for name in run.series)
    planned = run.config.number("max_staleness") is not None or (run.algorithm or "").lower() in DECOUPLED
    return inputs.policy is Policy.TEXT or recorded or planned
