"""The survey as a table: one line for each run. Runs that need attention come first."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

from firstbreak.compare.survey.runs import ORDER, UNREADABLE, SurveyRow
from firstbreak.reports.markdown import prose
from firstbreak.reports.text import count, visible
from firstbreak.words import number, percent

HEAD = ("verdict", "run", "first break", "likeliest cause", "since", "spent")
RUN, CAUSE = HEAD.index("run"), HEAD.index("likeliest cause")
NARROW = 12  #: smallest width of each of these two columns
REASONS = 5  #: unreadable runs that are listed with the reason


def render(rows: Sequence[SurveyRow], width: int = 80) -> str:
    """Plain text of at most `width` characters. The longer one of path and cause is shortened at its beginning."""
    if not rows:
        return "No runs were found."
    base = _base(rows)
    cells = [HEAD, *(_cells(row, base) for row in rows)]
    wide = [max(len(line[i]) for line in cells) for i in range(len(HEAD))]
    while sum(wide) + 2 * (len(HEAD) - 1) > width and max(wide[RUN], wide[CAUSE]) > NARROW:
        wide[RUN if wide[RUN] > wide[CAUSE] else CAUSE] -= 1
    lines = ["  ".join(_fitted(cell, n) for cell, n in zip(line, wide, strict=True)).rstrip() for line in cells]
    unreadable = [f"{visible(row.path[base:])}: {visible(row.summary)}" for row in rows if row.action == UNREADABLE]
    more = [f"... and {len(unreadable) - REASONS} more"] if len(unreadable) > REASONS else []
    return "\n".join([*lines, "", _counts(rows), *unreadable[:REASONS], *more])


def _base(rows: Sequence[SurveyRow]) -> int:
    """Length of the common beginning of all paths, whole folders only."""
    return 0 if len(rows) < 2 else len(os.path.commonpath([os.path.dirname(row.path) for row in rows])) + 1


def markdown(rows: Sequence[SurveyRow]) -> str:
    """The survey as a Markdown table."""
    cells = [HEAD, ["---"] * len(HEAD), *(map(prose, _cells(row, 0)) for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return f"{_counts(rows)}\n\n{table}"


def _cells(row: SurveyRow, base: int) -> tuple[str, ...]:
    cause = f"{row.cause} ({percent(row.probability or 0)})" if row.cause else ""
    since = "" if row.onset is None else number(row.onset)
    spent = "" if row.wasted is None else percent(row.wasted)
    return (row.action, visible(row.path[base:]), (row.link or "").replace("_", " "), cause, since, spent)


def _fitted(cell: str, wide: int) -> str:
    return (cell if len(cell) <= wide else "..." + cell[3 - wide :]).ljust(wide)


def _counts(rows: Sequence[SurveyRow]) -> str:
    counted = Counter(row.action for row in rows)
    return f"{count(len(rows), 'run')}: " + ", ".join(
        f"{counted[action]} {action}" for action in ORDER if counted[action]
    )
