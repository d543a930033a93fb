"""The survey as a table: one line for each run. Runs that need attention come first."""

import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from firstbreak.compare.survey.runs import ORDER, UNREADABLE, SurveyRow
from firstbreak.reports.markdown import prose
from firstbreak.reports.text import count, visible
from firstbreak.words import moment, shortened

HEAD = ("verdict", "run", "first break", "since", "why")
RUN = HEAD.index("run")
NARROW = 12  #: smallest width of the columns of runs and of reasons
ALL_COLUMNS = 100  #: width from which on place and time have columns of their own
REASONS = 5  #: unreadable runs, and folders without a log, that are listed


def render(rows: Sequence[SurveyRow], width: int = 80, without_log: Sequence[str] = ()) -> str:
    """Plain text of at most `width` characters. A long path is shortened in its middle, a long reason takes a second line.

    `without_log`: the folders beside the runs in which nothing could be read.
    """
    if not rows:
        return "No runs were found. A run is a folder or file that a trainer or logger writes: `firstbreak explain readers`."
    base = _base(rows)
    cells = [HEAD, *(_cells(row, base) for row in rows)]
    if width < ALL_COLUMNS:
        cells = [(verdict, run, _reason(place, since, why)) for verdict, run, place, since, why in cells]
    last = len(cells[0]) - 1
    wide = [max(len(line[i]) for line in cells) for i in range(last + 1)]
    while sum(wide) + 2 * last > width and max(wide[RUN], wide[last]) > NARROW:
        wide[RUN if wide[RUN] > wide[last] else last] -= 1
    lines = [text for line in cells for text in _lines(line, wide)]
    unreadable = [f"{visible(row.path[base:])}: {visible(row.summary)}" for row in rows if row.action == UNREADABLE]
    more = [f"... and {len(unreadable) - REASONS} more"] if len(unreadable) > REASONS else []
    return "\n".join([*lines, "", _counts(rows), *unreadable[:REASONS], *more, *_without_log(without_log)])


def _without_log(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    shown = [visible(os.path.basename(name)) for name in names[:REASONS]]
    more = f" and {len(names) - REASONS} more" if len(names) > REASONS else ""
    return [f"{count(len(names), 'folder')} without a known log: {', '.join(shown)}{more}"]


def _base(rows: Sequence[SurveyRow]) -> int:
    """Length of the common beginning of all paths, whole folders only."""
    return 0 if len(rows) < 2 else len(os.path.commonpath([os.path.dirname(row.path) for row in rows])) + 1


def markdown(rows: Sequence[SurveyRow], without_log: Sequence[str] = ()) -> str:
    """The survey as a Markdown table."""
    cells = [HEAD, ["---"] * len(HEAD), *(map(prose, _cells(row, 0)) for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return "\n\n".join([_counts(rows), table, *map(prose, _without_log(without_log))])


def _cells(row: SurveyRow, base: int) -> tuple[str, ...]:
    since = moment(row.axis, row.onset, None)
    return (
        row.verdict,
        visible(row.path[base:]),
        row.place,
        since,
        visible(row.reason or row.summary),
    )


def _reason(place: str, since: str, why: str) -> str:
    """Place, time and reason in one cell."""
    if place == "first break":
        return "first break and why"
    return f"{', '.join(filter(None, (place, since)))}: {why}" if place else why


def _lines(cells: Sequence[str], wide: Sequence[int]) -> Iterator[str]:
    """A row: one line, or two where the reason needs them."""
    reason, *rest = textwrap.wrap(cells[-1], wide[-1]) or [""]
    before = [_fitted(cell, n, middle=i == RUN) for i, (cell, n) in enumerate(zip(cells[:-1], wide, strict=False))]
    yield "  ".join([*before, reason]).rstrip()
    if rest:
        yield " " * (sum(wide[:-1]) + 2 * len(before)) + _fitted(" ".join(rest), wide[-1], middle=False).rstrip()


def _fitted(cell: str, wide: int, *, middle: bool) -> str:
    if len(cell) > wide:
        cell = shortened(cell, wide) if middle else cell[: wide - 3] + "..."
    return cell.ljust(wide)


def _counts(rows: Sequence[SurveyRow]) -> str:
    counted = Counter(row.verdict for row in rows)
    return f"{count(len(rows), 'run')}: " + ", ".join(
        f"{counted[verdict]} {verdict}" for verdict in ORDER if counted[verdict]
    )
