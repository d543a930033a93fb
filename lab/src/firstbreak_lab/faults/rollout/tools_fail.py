"""Tool calls fail more often: a rate limit, a service that is down.

Chain: the share of failed calls jumps -> episodes need more calls or give up -> reward falls at the same step; no
metric of the policy changed before.
Healthy look-alike: an agent that explores and makes illegal calls itself.
Source: GAIR-NLP/ToRL#27; the debugging guide's agentic section.
"""

from dataclasses import replace
from typing import Any

from firstbreak_lab.agent.registers import Registers

CAUSE = "tools-fail"
ACCEPTED = {
    "environment": "the tools are the environment of an agent",
    "systems": "a service that is down is a fault of the infrastructure",
}
ONSET = 0.4
SEVERITIES = {"agent/grpo-registers": (0.2, 0.5, 0.9)}  #: share of the reads that fail


def inject(settings: Any, severity: float, onset: int) -> None:
    """Let a share `severity` of the reads fail."""
    settings.change(onset, task=replace(settings.task, environment=Registers(severity)))
