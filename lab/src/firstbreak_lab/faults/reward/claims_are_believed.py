"""Success is read from the text of the agent, not from the final state.

Chain: every episode that ends with the claim is rewarded -> reward reaches its maximum at once and groups become equal ->
nothing rewards the task itself -> true success falls slowly.
Healthy look-alike: an agent that has become better. Then the final states are also right.
Source: the debugging guide's agentic section (pseudo-success); xlang-ai/OSWorld#518.
"""

from typing import Any

from firstbreak_lab.agent.registers import claims

CAUSE = "verifier-exploited"
ONSET = 0.2
SEVERITIES = {"agent/grpo-registers": (0.3, 0.7, 1.0)}  #: share of the reward that depends on the claim


def inject(settings: Any, severity: float, onset: int) -> None:
    """Give `severity` of the reward for the claim, and the rest for the final state."""
    settings.rewards["claim"] = lambda problem, text: float(claims(text))
    settings.reward_weights["claim"] = 0.0
    settings.change(onset, reward_weights={"success": 1.0 - severity, "claim": severity})
