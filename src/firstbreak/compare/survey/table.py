"""The survey as a table: one line for each run. Runs that need attention come first."""

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from firstbreak.compare.survey.runs import ORDER, UNREADABLE, SurveyRow
from firstbreak.reports.markdown import prose
from firstbreak.reports.text import count, short_number, shorter, visible
from firstbreak.words import moment

HEAD = ("verdict", "run", "first break", "since", "now", "best", "score", "why")
WHOLE = 100_000  #: characters: nothing is folded
APART = 2  #: columns between two cells
LEAST = 24  #: characters of a name or of a reason that a line has room for
WHY = 60  #: characters of a reason; with less room for it the numbers beside it are left out
SHORT = 20  #: characters of a name; where all are so short, two thirds of a reason are room enough
NAME = 36  #: characters of a name in its column; a longer one moves what follows
NARROW = 160  #: a narrower table has place and time before the reason, and leaves out which score it is
REASONS = 5  #: unreadable runs, and folders without a log, that are listed


def render(rows: Sequence[SurveyRow], width: int | None = None, without_log: Sequence[str] = ()) -> str:
    """Plain text of at most `width` characters: one line for each run, where its whole reason fits. Without a width each run
    is one line.

    `without_log`: the folders beside the runs in which nothing could be read.
    """
    if not rows:
        return "No runs were found. A run is a folder or file that a trainer or logger writes: `firstbreak explain readers`."
    base = _base(rows)
    cells, hint = [HEAD, *(_cells(row, base) for row in rows)], ""
    if width is not None and width < NARROW:
        cells, hint = _narrow(cells, width)
    widths = _widths(cells, width)
    lines = [line for row in cells for line in _lines(row, cells[0], widths, width or WHOLE)]
    unreadable = [f"{visible(row.path[base:])}: {visible(row.summary)}" for row in rows if row.action == UNREADABLE]
    more = [f"... and {len(unreadable) - REASONS} more"] if len(unreadable) > REASONS else []
    notes = [*unreadable[:REASONS], *more, *_without_log(without_log), *filter(None, [hint])]
    return "\n".join([*lines, "", _counts(rows), *notes])


def _narrow(cells: Sequence[tuple[str, ...]], width: int) -> tuple[list[tuple[str, ...]], str]:
    """Place and time before the reason, the numbers for which there is room, and where those are that are left out."""
    lines = [(v, run, now, best, _reason(v, place, since, why)) for v, run, place, since, now, best, _, why in cells]
    room = WHY if max(len(line[1]) for line in lines) > SHORT else WHY * 2 / 3
    for kept in (4, 3, 2):
        found = [(*line[:kept], line[-1]) for line in lines]
        if width - sum(_widths(found, width)) >= room:
            break
    missing = " and ".join(["now", "at its best"][kept - 2 :])
    return found, f"A wider terminal (COLUMNS=140) shows the score {missing} as well." if missing else ""


def _widths(cells: Sequence[Sequence[str]], width: int | None) -> list[int]:
    """Of the columns before the reason, with the space behind them."""
    from rich.cells import cell_len

    sizes = [[cell_len(line[i]) for line in cells] for i in range(len(cells[0]) - 1)]
    most = WHOLE if width is None else max(LEAST, min(NAME, width // 3))
    sizes[1] = [size for size in sizes[1] if size <= most]
    return [max(size) + APART for size in sizes]


def _lines(row: Sequence[str], head: Sequence[str], widths: Sequence[int], width: int) -> Iterator[str]:
    """A run in as few lines as it needs: what does not fit goes on below, in its own column."""
    from rich.cells import cell_len, chop_cells

    *above, name = chop_cells(row[1], width - widths[0]) or [""]
    yield from (f"{row[0] if i == 0 else '':{widths[0]}}{part}" for i, part in enumerate(above))
    begin = f"{'' if above else row[0]:{widths[0]}}{name}{' ' * max(APART, widths[1] - cell_len(name))}"
    for title, cell, size in zip(head[2:-1], row[2:-1], widths[2:], strict=True):
        begin += f"{cell:>{size - APART}}{' ' * APART}" if title in ("now", "best") else f"{cell:{size}}"
    left, used = sum(widths), cell_len(begin)
    if used + LEAST > width and used > left:  # a long name leaves no room
        yield begin.rstrip()
        begin, used = " " * left, left
    why = row[-1].replace(" %", "\xa0%").replace("step ", "step\xa0")  # a number stays beside its word
    first, *more = wrap(why, max(LEAST, width - left), initial_indent=" " * (used - left)) or [""]
    yield f"{begin}{first.strip()}".replace("\xa0", " ").rstrip()
    yield from (f"{' ' * left}{line}".replace("\xa0", " ") for line in more)


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
        "" if row.now is None or math.isnan(row.now) else short_number(row.now),
        "" if row.best is None else f"{short_number(row.best)} at {short_number(row.best_step or 0.0)}",
        row.score,
        visible(row.reason or row.summary),
    )


def _reason(verdict: str, place: str, since: str, why: str) -> str:
    """Place, time and reason in one cell; what else a sound run does is left out."""
    if verdict == "verdict":
        return "first break: why"
    if verdict == "continue":
        return why.partition(", and ")[0]
    return f"{', '.join(filter(None, (place, since)))}: {why}" if place else why


def _counts(rows: Sequence[SurveyRow]) -> str:
    counted = Counter(row.verdict for row in rows)
    return f"{count(len(rows), 'run')}: " + ", ".join(
        f"{counted[verdict]} {verdict}" for verdict in ORDER if counted[verdict]
    )
