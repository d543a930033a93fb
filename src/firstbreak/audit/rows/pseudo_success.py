"""The text claims success, and the recorded outcome is a failure.

Episodes with a wrong claim of success become more frequent. Check what the success check reads: it should read the final
state and not the text.
"""

from __future__ import annotations

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import percent

LINK = Link.REWARD
OFTEN = 0.1


def examine(evidence: AuditInputs) -> Found:
    claims = evidence.sides.get("empty-claim")
    if claims is None:
        return NotMeasured(
            "no outcome is recorded beside the text (success, solved, passed, or a reward component for success)"
        )
    if claims.shifted <= 0 or claims.late < OFTEN:
        return None
    return Finding(
        message=(
            f"{percent(claims.late)} of the late samples wrongly claim success, {percent(claims.early)} of the "
            f"early ones{', and the claim is rewarded' if claims.rewarded else ''}. Check success on the final state"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="samples.empty-claim",
        onset=claims.step,
        interval=claims.interval,
    )
