"""Samples come from a policy many updates older than the one that learns from them.

Which policy version made each sample, and how many updates old was it at its own? A sample of an older policy needs a
correction, and beyond a few updates it teaches what was good for another policy. An asynchronous trainer with a limit of a
few versions works at that limit by design.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.engine.checks import seen_as, warning
from firstbreak.model import Link, NotMeasured
from firstbreak.words import number

LINK = Link.FRESHNESS
OLD = 4.0  #: updates: beyond this even the usual corrections for old data lose samples
UNRECORDED = "nothing records which policy version made each sample: log it beside the completion (policy_version)"


def examine(evidence: AuditInputs) -> Found:
    age = evidence.sides.get("policy-age")
    if age is None:
        return NotMeasured(UNRECORDED)
    if age.curve.mean.min() < 0:
        return NotMeasured("the recorded policy versions are ahead of the steps, so they are not counted in steps")
    if age.late <= OLD:
        return f"samples record their policy version: {number(age.early)} updates old at first, {number(age.late)} at the end"
    grows = age.shifted > 0
    since, interval = (age.step, age.interval) if grows else (float(age.curve.steps[0]), None)
    return warning(
        f"late samples were made by a policy version {number(age.late)} updates before the one that trains on them "
        f"({number(age.early)} at first). Deliver the weights more often, or lower the limit of the staleness",
        seen_as("samples.policy-age", since, interval),
        numbers={"early": age.early, "late": age.late},
    )
