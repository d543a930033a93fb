"""Tools are called for the reward, not for their effect.

Calls per episode increase while more calls fail or change nothing. Harmless where harder tasks need more calls and success
rises as well.
"""

from __future__ import annotations

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Finding, Link, NotApplicable, Severity
from firstbreak.words import number

LINK = Link.REWARD


def examine(evidence: AuditInputs) -> Found:
    calls = evidence.sides["tool-calls"]
    if not calls.early and not calls.late:
        return NotApplicable("no tool is called")
    wasted = [
        side for name in ("idle-calls", "tool-failures") if (side := evidence.sides.get(name)) and side.shifted > 0
    ]
    component = next(
        (part.name for part in evidence.parts if not part.checks_answer and "call" in part.name.lower()), None
    )
    if calls.shifted <= 0 and not wasted:
        return None
    if not wasted and not calls.rewarded and component is None:
        return None
    why = (
        wasted[0].meaning
        if wasted
        else f"the component {component} rewards them"
        if component
        else "calls are rewarded"
    )
    return Finding(
        message=(
            f"tool calls went from {number(calls.early)} to {number(calls.late)} per episode, and {why}. "
            "Reward the effect of calls, not the calls"
        ),
        severity=Severity.WARNING if wasted else Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        metric="samples.tool-calls",
        onset=(wasted or [calls])[0].step,
        interval=(wasted or [calls])[0].interval,
    )
