"""Rollouts run far ahead of the trainer: the limit on staleness is too large.

Chain: staleness rises -> behaviour weights spread and the cap leaves tokens out -> the divergence from the reference
drifts -> reward and evaluation rise late and fall.
Healthy look-alike: a staleness of one or two versions; several minibatches, which change only the policy ratio.
Source: AReaL, arXiv:2505.24298.
"""

from typing import Any

CAUSE = "rollouts-too-old"
ONSET = 0.0
SEVERITIES = {"language/async-sort": (4, 8, 16)}  #: policy versions; 2 is right


def inject(settings: Any, severity: float, onset: int) -> None:
    """Let rollouts begin up to `severity` versions before they are used, at the learning rate of a synchronous run."""
    settings.max_head_offpolicyness = int(severity)
    settings.lr = 1e-3
