"""A part of the state is missing from the observation: a wrapper drops it, a sensor reads zero.

Chain: different states look the same -> the critic cannot separate good states from bad ones -> advantages stay noisy ->
the policy averages over the missing part, and entropy stays high.
Healthy look-alike: partial observability that belongs to the task; early training.
Source: Humbatova et al., arXiv:2101.00135; arXiv:2410.04322.
"""

from __future__ import annotations

from typing import Any

from firstbreak_lab import classic

CAUSE = "observations-wrong"
ONSET = 0.4
SEVERITIES = {
    "classic/ppo-cartpole": (1, 2, 3),
    "classic/sac-pendulum": (1, 2, 3),
}  #: number of components, from the last one, that are zero


def inject(settings: Any, severity: float, onset: int) -> None:
    """Set the last `severity` components of every observation to zero. The speeds are the last components."""

    def blinded(observation: Any) -> Any:
        seen = observation.copy()
        seen[-int(severity) :] = 0
        return seen

    classic.tamper(settings, onset, lambda: {"observation": blinded}, evaluation=True)
