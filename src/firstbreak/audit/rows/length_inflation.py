"""Completions are more than twice as long as in the beginning, and length is rewarded.

Harmless where an independent score rises as well. Pad twenty answers with filler and score them again: if the reward rises,
length is rewarded.
"""

import numpy as np

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Expected, Link, NotMeasured, Severity
from firstbreak.words import number, percent

LINK = Link.REWARD
TIMES = 2.0
SHARE = 0.25  #: of the latest samples
TOLD = 0.05  #: correlation with the reward within a prompt, the nearer end of its interval: less may be chance


def examine(evidence: AuditInputs) -> Found:
    baseline = [len(sample.completion) for sample in evidence.table.baseline()]
    latest = [len(sample.completion) for sample in evidence.latest]
    if len(evidence.table.rows) < 2 or not baseline:
        return NotMeasured("all samples are of one step, so there is no beginning to compare with")
    usual = float(np.median(baseline))
    share = float(np.mean([length > TIMES * usual for length in latest]))
    side = evidence.sides["length"]
    if share < SHARE or side.shifted <= 0:
        return None
    paid = side.rewarded and side.in_group is not None and side.in_group.interval[0] > TOLD
    if paid and evidence.agrees:
        return Expected(f"longer completions get a higher reward, and the truth agrees with it ({evidence.agrees})")
    return side.finding(
        f"{percent(share)} of the latest completions are more than twice as long as the median of the beginning "
        f"({number(usual)} characters){', and longer completions get a higher reward' if paid else ''}. "
        "Pad twenty answers with filler and score them again",
        Severity.WARNING if paid else Severity.NOTICE,
        share=share,
        baseline=usual,
    )
