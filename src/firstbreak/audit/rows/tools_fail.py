"""Tool calls begin to fail.

The share of answers of tools that report a failure grows. Then the policy learns to live without its tools, or from episodes
that it could not solve. Harmless while a policy tries tools that are new to it: then the share falls again. The message also says
how many calls are illegal, what a call costs, and how many failures are followed by a call that works.
"""

from collections.abc import Sequence

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.split_truth import PolicySample
from firstbreak.model import Link, NotApplicable
from firstbreak.readers.tool_turns import tool_use
from firstbreak.words import number, percent

LINK = Link.ROLLOUT
OFTEN = 0.2  #: of the answers


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
        "Read the errors of the first ten that fail, and leave episodes out whose tools were unavailable"
    )


def _calls(episodes: Sequence[PolicySample]) -> str:
    """How many calls are illegal, which failures a later call makes good, and what a call costs."""
    if (use := tool_use(episode.turns for episode in episodes)) is None:
        return "no calls"
    made_good = "" if use.made_good is None else f"{percent(use.made_good)} of the failures are made good, "
    return f"{percent(use.illegal)} of the calls are illegal, {made_good}{number(use.size)} characters a call"
