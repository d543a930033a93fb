"""Every tool call is rewarded: a process reward that should encourage the use of tools.

Chain: reward rises by the bonus -> calls per episode rise -> episodes reach the limit before the task is done ->
success falls while reward rises.
Healthy look-alike: harder tasks that need more calls. Then success also rises.
Source: the debugging guide's agentic section (tool hacking); Visual-Agent/DeepEyes#83.
"""

from typing import Any

from firstbreak_lab.agent.registers import calls

CAUSE = "reward-pays-for-calls"
ONSET = 0.2
SEVERITIES = {"agent/grpo-registers": (0.05, 0.2, 0.5)}  #: reward of a call; the reward of success is 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Reward every call that the machine answers with `severity`."""
    settings.rewards["calls"] = lambda problem, text: float(len(list(calls(text))))
    settings.reward_weights["calls"] = 0.0
    settings.change(onset, reward_weights=settings.reward_weights | {"calls": severity})
