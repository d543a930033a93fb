"""Observations arrive late: a buffer index, a frame stack, an asynchronous environment that returns the last state.

Chain: the policy acts on old observations -> fast changes cannot be controlled -> returns reach a lower plateau in
training and evaluation, while all metrics of the update look normal.
Healthy look-alike: a hard task, a short training.
Source: Humbatova et al., arXiv:2101.00135 (environment interaction).
"""

from collections import deque
from typing import Any

from firstbreak_lab import classic

CAUSE = "observations-wrong"
ACCEPTED = {"rollout": "the buffer that delivers them belongs to the collector"}
ONSET = 0.0
SEVERITIES = {"classic/ppo-cartpole": (1, 3, 6), "classic/a2c-cartpole": (1, 3, 6)}  #: steps


def inject(settings: Any, severity: float, onset: int) -> None:
    """Show every observation `severity` steps late."""

    def changes() -> dict[str, Any]:
        recent: deque[Any] = deque(maxlen=int(severity) + 1)

        def late(observation: Any) -> Any:
            recent.append(observation)
            return recent[0]

        return {"observation": late}

    classic.tamper(settings, onset, changes, evaluation=True)
