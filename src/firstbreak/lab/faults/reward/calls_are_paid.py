"""Every tool call earns a little: a process reward that was meant to encourage using tools.

Chain: reward rises by the bonus -> calls per episode rise -> episodes run into the limit before the work is done ->
success falls while reward rises.
Healthy look-alike: harder tasks that need more calls: then success rises too.
Source: the debugging guide's agentic section (tool hacking); Visual-Agent/DeepEyes#83.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab.agent.registers import calls

CAUSE = "reward-pays-for-calls"
ONSET = 0.2
SEVERITIES = {"agent/grpo-registers": (0.05, 0.2, 0.5)}  #: reward of a call; success earns 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Pay `severity` for every call that the machine answers."""
    settings.rewards["calls"] = lambda problem, text: float(len(list(calls(text))))
    settings.reward_weights["calls"] = 0.0
    settings.change(onset, reward_weights=settings.reward_weights | {"calls": severity})
