"""The behaviour weights of old rollouts have no cap.

Chain: a few tokens that have become much more probable get weights of ten and more -> the gradient norm has spikes ->
single samples dominate the update -> reward becomes noisy and falls.
Healthy look-alike: rare large weights under an active cap.
Source: AReaL's guide (behave_imp_weight_cap); huggingface/trl#5815.
"""

from typing import Any

CAUSE = "behaviour-weights-uncapped"
ACCEPTED = {"policy_update": "the cap belongs to the loss"}
ONSET = 0.0
SEVERITIES = {"language/async-sort": (2, 6, 12)}  #: largest age of rollouts, in policy versions


def inject(settings: Any, severity: float, onset: int) -> None:
    """Remove the cap, and use rollouts that are up to `severity` versions old."""
    settings.behave_imp_weight_cap = None
    settings.max_head_offpolicyness = int(severity)
    settings.lr = 1e-3
