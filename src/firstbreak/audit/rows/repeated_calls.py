"""Episodes repeat the same tool call.

A call is made again word for word, or leaves the state as it was, more and more often. If such episodes get a higher reward,
the reward pays for calls and not for what they do. Harmless for polling, and for retries after an error.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Link, NotApplicable, Severity
from firstbreak.words import percent

LINK = Link.REWARD
OFTEN = 0.15  #: of an episode's calls


def examine(evidence: AuditInputs) -> Found:
    idle = evidence.sides.get("idle-calls")
    if idle is None:
        return NotApplicable("no tool is called")
    if idle.shifted <= 0 or idle.late < OFTEN:
        return None
    paid = idle.rewarded or (idle.same_answer is not None and idle.same_answer.direction > 0)
    return idle.finding(
        f"{percent(idle.late)} of the tool calls of a late episode repeat an earlier call of it or change nothing, "
        f"{percent(idle.early)} of the early ones{', and such episodes get a higher reward' if paid else ''}. "
        "Reward what a call changes, and count each call once",
        Severity.WARNING if paid else Severity.NOTICE,
        Confidence.HIGH if paid else Confidence.MEDIUM,
        paid=paid,
    )
