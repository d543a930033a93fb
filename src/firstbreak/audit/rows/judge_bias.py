"""The same answer gets a different reward in another style.

Among samples of one prompt with the same final answer, the reward still depends on length, markdown, politeness, hedging or
repetition. This is typical of a biased judge or reward model. A length penalty has the same effect on purpose.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.shift import SideMetric
from firstbreak.model import Confidence, Link, NotMeasured, Severity
from firstbreak.words import number

LINK = Link.REWARD
STYLES = ("length", "markdown", "politeness", "hedging", "repetition")
STRONG = 0.3  #: correlation
FORM = ("markdown", "politeness", "hedging")  #: styles without content: a longer answer may hold more
PLAIN = 0.5  #: correlation: so strong a preference for a form will be found by the policy


def examine(evidence: AuditInputs) -> Found:
    sides = [side for name in STYLES if (side := evidence.sides.get(name)) is not None and side.same_answer is not None]
    if not sides:
        return NotMeasured("no prompt has several samples with the same final answer and different rewards")
    worst = max(sides, key=_strength)
    if _strength(worst) < STRONG:
        return None
    found = worst.same_answer
    assert found is not None
    low, high = found.interval
    exploited = worst.shifted == found.direction
    certain = worst.metric.id in FORM and _strength(worst) >= PLAIN
    return worst.finding(
        f"among samples of one prompt with the same answer, the reward depends on {worst.metric.id} (correlation "
        f"{number(found.r)}, 95 % {number(low)} to {number(high)}). The reward has a style bias: rewrite fifty answers in "
        "another style with the same content, and score both versions",
        Severity.WARNING if exploited or certain else Severity.NOTICE,
        Confidence.MEDIUM,
        style=worst.metric.id,
        r=found.r,
    )


def _strength(side: SideMetric) -> float:
    """The end of the interval that is nearer to zero correlation."""
    assert side.same_answer is not None
    low, high = side.same_answer.interval
    return max(low, -high)
