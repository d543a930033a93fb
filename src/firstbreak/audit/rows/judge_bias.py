"""The same answer earns more in another style.

Among samples of one prompt that give the same final answer, the reward still goes by length, markdown, politeness,
hedging or repetition. That is what a judge or a reward model with a taste looks like; a length penalty looks so on purpose.
"""

from __future__ import annotations

from firstbreak.audit.rows import Evidence, Found
from firstbreak.audit.shift import Side
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import number

LINK = Link.REWARD
STYLES = ("length", "markdown", "politeness", "hedging", "repetition")
STRONG = 0.3  #: correlation


def examine(evidence: Evidence) -> Found:
    sides = [side for name in STYLES if (side := evidence.sides.get(name)) is not None and side.same_answer is not None]
    if not sides:
        return NotMeasured("no prompt has several samples with the same final answer and different rewards")
    worst = max(sides, key=_strength)
    if _strength(worst) < STRONG:
        return None
    found = worst.same_answer
    assert found is not None
    low, high = found.interval
    return Finding(
        message=(
            f"among samples of one prompt with the same answer the reward goes by {worst.metric.id} (correlation "
            f"{number(found.r)}, 95 % {number(low)} to {number(high)}): the reward has a taste; rewrite fifty answers in "
            "another style without changing what they say, and score both"
        ),
        severity=Severity.WARNING if worst.shifted == found.paid else Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        metric=f"samples.{worst.metric.id}",
        onset=worst.step,
        interval=worst.interval,
        facts={"style": worst.metric.id, "r": found.r},
    )


def _strength(side: Side) -> float:
    """The end of the interval that is nearer to no correlation at all."""
    assert side.same_answer is not None
    low, high = side.same_answer.interval
    return max(low, -high)
