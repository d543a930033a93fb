"""The text says done, the state says no.

Episodes that claim success without having it become more frequent. Look at what the check of success reads: it should
read the final state, not the text.
"""

from __future__ import annotations

from firstbreak.audit.rows import Evidence, Found
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import percent

LINK = Link.REWARD
OFTEN = 0.1


def examine(evidence: Evidence) -> Found:
    claims = evidence.sides.get("empty-claim")
    if claims is None:
        return NotMeasured(
            "no outcome is recorded beside the text (success, solved, passed, or a reward component for it)"
        )
    if claims.shifted <= 0 or claims.late < OFTEN:
        return None
    return Finding(
        message=(
            f"{percent(claims.late)} of the late samples say that they are done and are not, {percent(claims.early)} of the "
            f"early ones{', and that is paid for' if claims.paid else ''}: check success on the final state"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="samples.empty-claim",
        onset=claims.step,
        interval=claims.interval,
    )
