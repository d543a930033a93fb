"""Tool calls begin to fail.

The share of answers of tools that report a failure grows. Then the policy learns to live without its tools, or from episodes
that it could not solve. Harmless while a policy tries tools that are new to it: then the share falls again. The message also says
how many calls are illegal, what a call costs, and how many failures are followed by a call that works.
"""

import re
from collections.abc import Sequence

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.split_truth import PolicySample
from firstbreak.model import Confidence, Link, NotApplicable, Severity
from firstbreak.words import number, percent

LINK = Link.ROLLOUT
OFTEN = 0.2  #: of the answers
#: what a tool answers to a call that nothing could carry out
ILLEGAL = re.compile(
    r"(?:unknown|no such|undefined|unsupported) (?:tool|function|command|argument|parameter)|not (?:a )?valid json|unexpected \w*"
    r" ?argument|(?:invalid|missing)[\w ]* (?:argument|parameter|json|schema)|(?:tool|function)\b.{0,60}\bnot (?:found|exist)",
    re.IGNORECASE,
)


def examine(evidence: AuditInputs) -> Found:
    failures = evidence.sides.get("tool-failures")
    if failures is None:
        return NotApplicable("no answer of a tool is recorded")
    told = "; ".join(
        f"{when} {_calls([sample for _, row in rows for sample in row.kept])}"
        for when, rows in (("early", evidence.table.early()), ("late", evidence.table.late()))
    )
    if failures.shifted <= 0 or failures.late < OFTEN:
        return told
    return failures.finding(
        f"{percent(failures.late)} of the tool calls of late samples fail, {percent(failures.early)} of the early ones"
        f"{', and such episodes get a higher reward' if failures.rewarded else ''} ({told}). "
        "Read the errors of the first ten that fail, and leave episodes out whose tools were unavailable",
        Severity.WARNING,
        Confidence.HIGH,
    )


def _calls(episodes: Sequence[PolicySample]) -> str:
    """How many calls are illegal, which failures a later call makes good, and what a call costs."""
    calls = [(turn, episode.turns[i + 1 :]) for episode in episodes for i, turn in enumerate(episode.turns)]
    failed = [any(later.failed is False for later in rest) for turn, rest in calls if turn.failed]
    illegal = [not turn.tool or bool(turn.failed and ILLEGAL.search(turn.answer)) for turn, _ in calls]
    size = sum(len(turn.arguments) + len(turn.answer) for turn, _ in calls) / max(1, len(calls))
    made_good = f"{percent(sum(failed) / len(failed))} of the failures are made good, " if failed else ""
    return f"{percent(sum(illegal) / max(1, len(calls)))} of the calls are illegal, {made_good}{number(size)} characters a call"
