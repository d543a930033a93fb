"""The policy refuses more and more.

A reward for safety that is too strong teaches to refuse harmless prompts. Harmless where the prompts become more dangerous:
then refusals are right, and the other completions to the same prompt are refusals too.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Link, Severity
from firstbreak.words import percent

LINK = Link.REWARD
OFTEN, MOSTLY = 0.1, 0.5  #: of the completions


def examine(evidence: AuditInputs) -> Found:
    refusal = evidence.sides.get("refusal")
    if refusal is None or refusal.shifted <= 0 or refusal.late < OFTEN:
        return None
    return refusal.finding(
        f"{percent(refusal.late)} of the late completions refuse, {percent(refusal.early)} of the early ones"
        f"{', and a refusal gets more than the other answers to its prompt' if refusal.rewarded else ''}. "
        "Read ten refusals: where the prompt is harmless, the refusal must not be paid",
        Severity.WARNING if refusal.rewarded or refusal.late >= MOSTLY else Severity.NOTICE,
        Confidence.HIGH if refusal.rewarded else Confidence.MEDIUM,
        paid=refusal.rewarded,
    )
