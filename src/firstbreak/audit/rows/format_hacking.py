"""The format is right and the answer is wrong.

The reward's component for form is earned by samples whose answer earns nothing, more and more often. Format first and
answers later is the usual order of learning, and no finding: then the share falls.
"""

from __future__ import annotations

from firstbreak.audit.rows import Evidence, Found
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import percent

LINK = Link.REWARD
OFTEN = 0.3


def examine(evidence: Evidence) -> Found:
    hollow = evidence.sides.get("hollow-format")
    if hollow is None:
        return NotMeasured("the reward has no component for form beside one for the answer, as far as their names tell")
    if hollow.shifted <= 0 or hollow.late < OFTEN:
        return None
    return Finding(
        message=(
            f"{percent(hollow.late)} of the late samples have the right format and a wrong answer, {percent(hollow.early)} "
            "of the early ones: pay for the format only where the answer is right"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="samples.hollow-format",
        onset=hollow.step,
        interval=hollow.interval,
    )
