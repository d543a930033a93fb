"""Completions get longer and carry less information.

Completions get longer, and each character carries less information: the text compresses better. The message also says
whether completions repeat word sequences, and whether an n-gram model of the beginning predicts them better. Longer texts do
both a little in any case.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Link, NotMeasured
from firstbreak.words import number

LINK = Link.REWARD
#: side metrics that confirm the finding, with their direction
CONFIRMING = {"surprise": (-1, "bits per character under a model of the beginning"), "repetition": (1, "repetition")}


def examine(evidence: AuditInputs) -> Found:
    density = evidence.sides.get("compression")
    if density is None:
        return NotMeasured("completions are too short to measure their information by compression (200 bytes)")
    if density.shifted >= 0 or evidence.sides["length"].shifted <= 0:
        return None
    confirmed = [
        f", {words} from {number(side.early)} to {number(side.late)}"
        for name, (direction, words) in CONFIRMING.items()
        if (side := evidence.sides.get(name)) is not None and side.shifted == direction
    ]
    return density.finding(
        f"completions get longer and carry less information: they compress to {number(density.late)} of their size "
        f"({number(density.early)} in the beginning){''.join(confirmed)}. More text is rewarded, not more content: "
        "shorten answers by a third and score them again",
        confidence=Confidence.HIGH if len(confirmed) == len(CONFIRMING) else Confidence.MEDIUM,
    )
