"""The format is right and the answer is wrong.

More and more samples get the reward for the format and no reward for the answer. A policy often learns the format first and
answers later. In this case the share falls, or right answers become more frequent as well, and there is no finding.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.engine.stats.direction import rises
from firstbreak.model import Link, NotMeasured
from firstbreak.words import percent

LINK = Link.REWARD
OFTEN = 0.3


def examine(evidence: AuditInputs) -> Found:
    hollow = evidence.sides.get("hollow-format")
    if hollow is None:
        return NotMeasured("the names of the reward components do not show one for the format and one for the answer")
    if hollow.shifted <= 0 or hollow.late < OFTEN or any(map(rises, evidence.answers.values())):
        return None
    return hollow.finding(
        f"{percent(hollow.late)} of the late samples have the right format and a wrong answer, {percent(hollow.early)} "
        "of the early ones. Reward the format only where the answer is right"
    )
