"""All outputs look the same.

The completions of one prompt are nearly all the same text, and one strategy is left, where there was variety in the
beginning. Harmless once a task with one right answer of one form is solved: then the reward is at its top too.
"""

from __future__ import annotations

from firstbreak.audit.rows import Evidence, Found
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.model import Evidence as Shown
from firstbreak.words import number, percent

LINK = Link.EXPLORATION


def examine(evidence: Evidence) -> Found:
    found = evidence.diversity
    if found is None or not len(found.texts.finite):
        return NotMeasured("no prompt has several samples")
    if not found.alike:
        return None
    return Finding(
        message=(
            f"completions of one prompt are {percent(float(found.texts.finite.values[-1]))} different texts at the end, "
            f"{percent(float(found.texts.finite.values[0]))} at first, and {percent(found.share)} of them follow one strategy "
            f"({number(float(found.strategies.values[-1]))} in effect): read ten completions of one prompt"
        ),
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        metric="samples.distinct-texts",
        onset=found.step,
        interval=found.interval,
        evidence=(Shown(text="share of different texts", series=found.texts, since=found.step),),
    )
