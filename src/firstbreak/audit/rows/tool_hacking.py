"""Tools are called for the reward, not for their effect.

Calls per episode increase while more calls fail or change nothing, or are paid whatever comes of them: among episodes of one
task that end the same way, more calls get a higher reward. Harmless where harder tasks need more calls and success rises as
well.
"""

import re

import numpy as np

from firstbreak.audit.metrics.empty_claim import outcome
from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.shift import over_steps
from firstbreak.engine.checks import graded, seen_as
from firstbreak.engine.stats.direction import rises
from firstbreak.model import Confidence, Link, NotApplicable, Series, Severity
from firstbreak.words import number

LINK = Link.REWARD
CALLS = re.compile(r"call|tool", re.IGNORECASE)
STRONG = 0.3  #: correlation


def examine(evidence: AuditInputs) -> Found:
    calls = evidence.sides["tool-calls"]
    if not calls.early and not calls.late:
        return NotApplicable("no tool is called")
    if calls.shifted <= 0:
        return None
    wasted = [s for name in ("idle-calls", "tool-failures") if (s := evidence.sides.get(name)) and s.shifted > 0]
    component = next((part.name for part in evidence.parts if not part.checks_answer and CALLS.search(part.name)), None)
    same_end = calls.same_answer is not None and calls.same_answer.interval[0] >= STRONG
    if not wasted and not same_end and component is None and not calls.rewarded:
        return None
    success = list(evidence.answers.values()) or _outcomes(evidence)
    succeeds = any(map(rises, success))
    if wasted:
        why = wasted[0].meaning
    elif component is not None:
        why = f"the component {component} rewards them"
    elif same_end:
        why = "calls are rewarded whatever comes of them"
    else:
        why = "episodes with more calls get a higher reward"
    bare = same_end or bool(success)
    return graded(
        Severity.WARNING if wasted or (bare and not succeeds) else Severity.NOTICE,
        f"tool calls went from {number(calls.early)} to {number(calls.late)} per episode, and {why}"
        f"{'' if succeeds or not success else ', while success does not rise'}. "
        "Reward the effect of calls, not the calls",
        seen_as("samples.tool-calls", (wasted or [calls])[0].step, (wasted or [calls])[0].interval),
        confidence=Confidence.MEDIUM,
    )


def _outcomes(evidence: AuditInputs) -> list[Series]:
    """The share of episodes that succeeded, over the steps, where the environment's verdict is recorded."""
    rows = [(step, [outcome(sample) for sample in row.kept]) for step, row in evidence.table.rows]
    known = [(step, [bool(won) for won in found if won is not None]) for step, found in rows]
    shares = [(step, float(np.mean(won))) for step, won in known if won]
    return [over_steps("success", shares)] if shares else []
