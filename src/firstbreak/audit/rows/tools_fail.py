"""Tool calls begin to fail.

The share of answers of tools that report a failure grows. Then the policy learns to live without its tools, or from episodes
that it could not solve. Harmless while a policy tries tools that are new to it: then the share falls again.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Link, NotApplicable, Severity
from firstbreak.words import percent

LINK = Link.ROLLOUT
OFTEN = 0.2  #: of the answers


def examine(evidence: AuditInputs) -> Found:
    failures = evidence.sides.get("tool-failures")
    if failures is None:
        return NotApplicable("no answer of a tool is recorded")
    if failures.shifted <= 0 or failures.late < OFTEN:
        return None
    return failures.finding(
        f"{percent(failures.late)} of the tool calls of late samples fail, {percent(failures.early)} of the early ones"
        f"{', and such episodes get a higher reward' if failures.rewarded else ''}. "
        "Read the errors of the first ten that fail, and leave episodes out whose tools were unavailable",
        Severity.WARNING,
        Confidence.HIGH,
        early=failures.early,
        late=failures.late,
    )
