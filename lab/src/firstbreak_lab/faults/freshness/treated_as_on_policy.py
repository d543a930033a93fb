"""Old rollouts are treated as on-policy: log-probabilities are recomputed and never compared with the old ones.

Chain: staleness rises, and only the behaviour weights show this -> the clipped ratio starts at exactly 1 -> the update
uses data of another policy -> reward falls without another warning.
Healthy look-alike: an on-policy run. Then behaviour weights are also 1.
Source: radixark/miles#1829; AReaL#201; AReaL, arXiv:2505.24298.
"""

from typing import Any

CAUSE = "rollouts-too-old"
ACCEPTED = {"policy_update": "the loss uses wrong old log-probabilities"}
ONSET = 0.0
SEVERITIES = {"language/async-sort": (4, 8, 16)}  #: policy versions


def inject(settings: Any, severity: float, onset: int) -> None:
    """Use rollouts up to `severity` versions old, without the decoupled loss that would correct for this."""
    settings.max_head_offpolicyness = int(severity)
    settings.use_decoupled_loss = False
    settings.lr = 1e-3
