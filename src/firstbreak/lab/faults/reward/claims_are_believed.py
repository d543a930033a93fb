"""Success is read from what the agent says, not from the state that it leaves.

Chain: every episode that ends with the claim is paid -> reward reaches its maximum at once and groups become equal ->
nothing rewards the work any more -> true success drifts down.
Healthy look-alike: an agent that has become better: then the final states are right as well.
Source: the debugging guide's agentic section (pseudo-success); xlang-ai/OSWorld#518.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab.agent.registers import claims

CAUSE = "verifier-exploited"
ONSET = 0.2
SEVERITIES = {"agent/grpo-registers": (0.3, 0.7, 1.0)}  #: share of the reward that goes by the claim


def inject(settings: Any, severity: float, onset: int) -> None:
    """Pay `severity` for the claim, and the rest for the final state."""
    settings.rewards["claim"] = lambda problem, text: float(claims(text))
    settings.reward_weights["claim"] = 0.0
    settings.change(onset, reward_weights={"success": 1.0 - severity, "claim": severity})
