"""Nothing bounds the behaviour weights of old rollouts.

Chain: a few tokens that have become much likelier get weights of ten and more -> the gradient norm spikes with them
-> single samples steer the update -> reward turns noisy and falls.
Healthy look-alike: rare large weights under an active cap.
Source: AReaL's guide (behave_imp_weight_cap); huggingface/trl#5815.
"""

from __future__ import annotations

from typing import Any

CAUSE = "behaviour-weights-uncapped"
ONSET = 0.0
SEVERITIES = {"language/async-sort": (2, 6, 12)}  #: policy versions that rollouts may be old


def inject(settings: Any, severity: float, onset: int) -> None:
    """No cap, on rollouts up to `severity` versions old."""
    settings.behave_imp_weight_cap = None
    settings.max_head_offpolicyness = int(severity)
    settings.lr = 1e-3
