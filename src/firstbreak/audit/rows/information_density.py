"""More text that says less.

Completions get longer while each character carries less: they compress better. Whether they also repeat sequences of words
and surprise an n-gram model of the run's own beginning less is said beside it; longer texts do both a little in any case.
"""

from __future__ import annotations

from firstbreak.audit.rows import Evidence, Found
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import number

LINK = Link.REWARD
#: side metrics that bear it out, in the direction in which they say less
WITNESSES = {"surprise": (-1, "bits per character under a model of the beginning"), "repetition": (1, "repetition")}


def examine(evidence: Evidence) -> Found:
    density = evidence.sides.get("compression")
    if density is None:
        return NotMeasured("completions are too short to tell their information by compressing them (200 bytes)")
    if density.shifted >= 0 or evidence.sides["length"].shifted <= 0:
        return None
    borne_out = [
        f", {words} from {number(side.early)} to {number(side.late)}"
        for name, (direction, words) in WITNESSES.items()
        if (side := evidence.sides.get(name)) is not None and side.shifted == direction
    ]
    return Finding(
        message=(
            f"completions grow and compress to {number(density.late)} of their size, {number(density.early)} in the "
            f"beginning{''.join(borne_out)}: the reward pays for text, not for what it says; cut answers by a third and "
            "score them again"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if len(borne_out) == len(WITNESSES) else Confidence.MEDIUM,
        metric="samples.compression",
        onset=density.step,
        interval=density.interval,
    )
