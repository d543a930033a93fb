"""The survey as a table: one line for each run. Runs that need attention come first."""

import io
import os
from collections import Counter
from collections.abc import Sequence

from firstbreak.compare.survey.runs import ORDER, UNREADABLE, SurveyRow
from firstbreak.reports.markdown import prose
from firstbreak.reports.text import count, short_number, shorter, visible
from firstbreak.words import moment

HEAD = ("verdict", "run", "first break", "since", "now", "best", "score", "why")
WHOLE = 100_000  #: characters: nothing is folded
APART = 2  #: columns between two cells
LEAST = 24  #: characters of a reason that are always shown
LINE, LINES, SHORT = 44, 2, 4  #: a reason with less room goes on for so many lines, each shorter by a word
NAME = 36  #: characters of a name that stay on one line
MIDDLE = 100  #: a narrower table leaves out where the score was best
NARROW = 160  #: a narrower table has place and time beside the reason, and leaves out which score it is
REASONS = 5  #: unreadable runs, and folders without a log, that are listed


def render(rows: Sequence[SurveyRow], width: int | None = None, without_log: Sequence[str] = ()) -> str:
    """Plain text of at most `width` characters: one line for each run, with its reason as far as it fits. A name that is too
    long goes on below. Without a width nothing is cut.

    `without_log`: the folders beside the runs in which nothing could be read.
    """
    if not rows:
        return "No runs were found. A run is a folder or file that a trainer or logger writes: `firstbreak explain readers`."
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    base = _base(rows)
    cells = [HEAD, *(_cells(row, base) for row in rows)]
    if width is not None and width < NARROW:
        cells = [
            (v, run, now, *([best] if width >= MIDDLE else []), _reason(place, since, why))
            for v, run, place, since, now, best, _, why in cells
        ]
    table = Table(box=None, pad_edge=False, padding=(0, APART, 0, 0), header_style="")
    widest = [max(cell_len(line[i]) for line in cells) for i in range(len(cells[0]) - 1)]
    widest[1] = widest[1] if width is None else min(widest[1], NAME)  # a longer name goes on below
    left = max(LEAST, (width or WHOLE) - sum(widest) - APART * len(widest))
    for head, most in zip(cells[0], (*widest, left), strict=True):
        table.add_column(head, overflow="fold", justify="right" if head in ("now", "best") else "left", width=most)
    for *line, why in cells[1:]:
        table.add_row(*map(Text, line), Text(_cut(why, left if left >= LINE else LINES * (left - SHORT))))
    console = Console(
        width=width or WHOLE, color_system=None, highlight=False, legacy_windows=False, file=io.StringIO()
    )
    with console.capture() as printed:
        console.print(table)
    lines = [line.rstrip() for line in printed.get().splitlines()]
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
    common = "" if len(rows) < 2 else os.path.commonpath([os.path.dirname(row.path) for row in rows])
    return len(common) + 1 if common else 0


def markdown(rows: Sequence[SurveyRow], without_log: Sequence[str] = ()) -> str:
    """The survey as a Markdown table."""
    cells = [HEAD, ["---"] * len(HEAD), *(map(prose, _cells(row, 0)) for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return "\n\n".join([_counts(rows), table, *map(prose, _without_log(without_log))])


def _cells(row: SurveyRow, base: int) -> tuple[str, ...]:
    since = shorter(moment("step", row.onset, None))
    return (
        row.verdict,
        visible(row.path[base:]),
        row.place,
        since,
        "" if row.now is None else short_number(row.now),
        "" if row.best is None else f"{short_number(row.best)} at {short_number(row.best_step or 0.0)}",
        row.score,
        visible(row.reason or row.summary),
    )


def _cut(text: str, most: int) -> str:
    """As much of a text as fits, link and step whole; "..." says that it goes on."""
    most = max(most, text.find(": ") + 4) if ": " in text else most
    return text if len(text) <= most else f"{text[: most - 3].rstrip()}..."


def _reason(place: str, since: str, why: str) -> str:
    """Place, time and reason in one cell."""
    if place == "first break":
        return "first break and why"
    return f"{', '.join(filter(None, (place, since)))}: {why}" if place else why


def _counts(rows: Sequence[SurveyRow]) -> str:
    counted = Counter(row.verdict for row in rows)
    return f"{count(len(rows), 'run')}: " + ", ".join(
        f"{counted[verdict]} {verdict}" for verdict in ORDER if counted[verdict]
    )
