"""The same answer gets a different reward: in another style, or word for word.

Among samples of one prompt with the same final answer, the reward still depends on length, markdown, politeness, hedging or
repetition. This is typical of a biased judge or reward model. A length penalty has the same effect on purpose, and the length of
an episode with tool calls is that of its calls. One text with two rewards in a step has a noisy reward, or that of another row.
"""

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.engine.checks import seen_as, warning
from firstbreak.engine.stats.proportion import wilson
from firstbreak.model import Confidence, Finding, Link, NotMeasured, Severity
from firstbreak.words import number, percent

LINK = Link.REWARD
STYLES = ("length", "markdown", "politeness", "hedging", "repetition")
STRONG = 0.3  #: correlation
CHANCE = 0.05  #: of the texts that a step has twice, the lower end of its interval
FORM = ("markdown", "politeness", "hedging")  #: styles without content: a longer answer may hold more
PLAIN = 0.5  #: correlation: so strong a preference for a form will be found by the policy


def examine(evidence: AuditInputs) -> Found:
    if (again := _word_for_word(evidence)) is not None:
        return again
    calls = evidence.sides["tool-calls"]
    styles = FORM if calls.late else STYLES
    found = [(side, side.same_answer) for name in styles if (side := evidence.sides.get(name)) and side.same_answer]
    if not found:
        return NotMeasured("no prompt has several samples with the same final answer and different rewards")
    worst, shown = max(found, key=lambda pair: pair[1].sure)
    if shown.sure < max(STRONG, calls.same_answer.sure if calls.same_answer else 0.0):
        return None
    low, high = shown.interval
    exploited = worst.shifted == shown.direction
    certain = worst.metric.id in FORM and shown.sure >= PLAIN
    return worst.finding(
        f"among samples of one prompt with the same answer, the reward depends on {worst.metric.id} (correlation "
        f"{number(shown.r)}, 95 % {number(low)} to {number(high)}). The reward has a style bias: rewrite fifty answers in "
        "another style with the same content, and score both versions",
        Severity.WARNING if exploited or certain else Severity.NOTICE,
        Confidence.MEDIUM,
        style=worst.metric.id,
        r=shown.r,
    )


def _word_for_word(evidence: AuditInputs) -> Finding | None:
    """Of the texts that a prompt gets twice in a step, those with two rewards."""
    twice, differ = (sum(getattr(row, name) for _, row in evidence.table.rows) for name in ("twice", "differ"))
    if wilson(differ, twice)[0] <= CHANCE:
        return None
    return warning(
        f"{differ} of {twice} completions that a prompt got twice in one step ({percent(differ / twice)}) have different "
        "rewards, word for word the same: the reward has noise, or is that of another row. Score one of them alone, twice",
        seen_as("samples.reward"),
        numbers={"twice": twice, "differ": differ},
    )
