"""Old rollouts are treated as if the current policy had written them: log-probabilities are recomputed, never compared.

Chain: staleness rises, and only behaviour weights show it -> the ratio that is clipped starts at exactly 1 -> the
update follows data of another policy -> reward falls with no other warning.
Healthy look-alike: a run that is on-policy: then behaviour weights are 1 as well.
Source: radixark/miles#1829; AReaL#201; AReaL, arXiv:2505.24298.
"""

from __future__ import annotations

from typing import Any

CAUSE = "rollouts-too-old"
ONSET = 0.0
SEVERITIES = {"language/async-sort": (4, 8, 16)}  #: policy versions


def inject(settings: Any, severity: float, onset: int) -> None:
    """Rollouts up to `severity` versions old, without the decoupled loss that would account for it."""
    settings.max_head_offpolicyness = int(severity)
    settings.use_decoupled_loss = False
    settings.lr = 1e-3
