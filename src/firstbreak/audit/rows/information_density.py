"""More text that says less.

Completions get longer while each character carries less: they compress better, or repeat what the policy wrote anyway.
"""

from __future__ import annotations

from firstbreak.audit.rows import Evidence, Found
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import number

LINK = Link.REWARD


def examine(evidence: Evidence) -> Found:
    density = evidence.sides.get("compression")
    if density is None:
        return NotMeasured("completions are too short to tell their information by compressing them (200 bytes)")
    if density.shifted >= 0 or evidence.sides["length"].shifted <= 0:
        return None
    return Finding(
        message=(
            f"completions grow and compress to {number(density.late)} of their size, {number(density.early)} in the "
            "beginning: the reward pays for text, not for what it says; cut answers by a third and score them again"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric="samples.compression",
        onset=density.step,
        interval=density.interval,
    )
