"""The report of a pre-flight check, on a terminal and for programs."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from firstbreak.model import Action, LinkStatus, Outcome, Status
from firstbreak.preflight import Bars, Exhibit, Report, ReportTable, Stacks
from firstbreak.reports import content, json
from firstbreak.reports.terminal import named
from firstbreak.reports.terminal_style import STYLE, Page, TerminalStyle
from firstbreak.reports.text import count
from firstbreak.words import link_word, number

SCHEMA = "firstbreak.preflight/1"
VERDICT = {Action.STOP: "Do not train yet", Action.WATCH: "Check this first", Action.CONTINUE: "Nothing found"}
QUIET = {
    Status.OK: ("Checked, nothing found", LinkStatus.OK),
    Status.NOT_APPLICABLE: ("Does not apply", LinkStatus.NOT_APPLICABLE),
    Status.NOT_MEASURED: ("Not measured", LinkStatus.NOT_MEASURED),
    Status.CRASHED: ("Checks that crashed", LinkStatus.SUSPECT),
}


def verdict(report: Report) -> str:
    """The header: what to do, or how many probes could not be made."""
    left = sum(outcome.status in (Status.NOT_MEASURED, Status.CRASHED) for outcome in report.outcomes)
    if left and not report.findings:
        return f"{left} of {count(len(report.outcomes), 'probe')} not made"
    return "Notices only" if report.findings and report.action is Action.CONTINUE else VERDICT[report.action]


def summary(report: Report) -> str:
    """The check's own sentence, or the number of its findings."""
    if report.summary:
        return report.summary
    found, asked = len(report.findings), count(len(report.outcomes), "probe")
    return f"{count(found, 'finding')} in {asked}" if found else f"{asked}, no finding"


def payload(report: Report) -> dict[str, Any]:
    """The report in plain dicts, lists, strings, numbers and None."""
    return {
        "schema": SCHEMA,
        "check": report.check,
        "target": json.text(report.target),
        "verdict": {"action": report.action.value, "summary": json.text(summary(report))},
        "findings": [json.finding_payload(outcome) for outcome in report.findings],
        "outcomes": [json.outcome_payload(outcome) for outcome in report.outcomes],
        "facts": {json.text(label): json.text(said) for label, said in report.checked},
        "exhibits": [
            {"title": e.title, "columns": json.plain(e.columns), "rows": json.plain(e.rows)} for e in report.exhibits
        ],
        "numbers": json.plain(report.numbers),
    }


def renderable(report: Report) -> Page:
    """The report for `rich.print`."""
    return Page(partial(_parts, report))


def _parts(report: Report, how: TerminalStyle) -> Iterator[RenderableType]:
    yield from _head(report, how)
    if report.findings:
        yield from how.section("What was found")
        yield from _findings(report.findings, how)
    for exhibit in report.exhibits:
        yield from how.section(exhibit.title)
        yield _drawn(exhibit, how)
    for status, (heading, mark) in QUIET.items():
        quiet = [outcome for outcome in report.outcomes if outcome.status is status]
        if quiet:
            yield from how.section(heading)
            yield _lines(quiet, mark, how)
    if report.checked:
        yield from how.section("What was checked")
        yield how.table([content.ReportLine(*line) for line in report.checked])


def _head(report: Report, how: TerminalStyle) -> Iterator[RenderableType]:
    action = report.action
    yield Text.assemble(
        Text(f" {how.symbol[action]} {verdict(report).upper()} ", style=f"{STYLE[action]} reverse"),
        "  ",
        how.text(f"{report.check} {report.target}", "bold"),
    )
    yield Text()
    yield how.text(summary(report), "bold")


def _findings(outcomes: tuple[Outcome, ...], how: TerminalStyle) -> Iterator[RenderableType]:
    for i, outcome in enumerate(outcomes):
        finding = content.found(outcome)
        if i:
            yield Text()
        yield named(outcome, how, how.text(f"  {link_word(outcome.link)}", "dim"))
        yield how.indented(how.text(finding.message))
        for shown in finding.evidence:
            yield how.indented(how.text(shown.text, "dim"))


def _lines(outcomes: list[Outcome], mark: LinkStatus, how: TerminalStyle) -> RenderableType:
    grid = Grid.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold", style="dim")
    for outcome in outcomes:
        symbol = Text(how.symbol[mark], style=STYLE[mark])
        grid.add_row(symbol, how.text(outcome.detector), how.text(outcome.note))
    return grid


def _drawn(exhibit: Exhibit, how: TerminalStyle) -> RenderableType:
    match exhibit:
        case ReportTable():
            return _table(exhibit, how)
        case Bars():
            return _bars(exhibit, how)
        case Stacks():
            return _stacks(exhibit, how)


def _table(table: ReportTable, how: TerminalStyle) -> RenderableType:
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for i, column in enumerate(table.columns):
        grid.add_column(how.text(column), justify="right" if i else "left", overflow="fold")
    for row in table.rows:
        grid.add_row(*map(how.text, row))
    return grid


def _bars(bars: Bars, how: TerminalStyle) -> RenderableType:
    """Bars. Each column is scaled to its own maximum, so histograms can be compared in shape."""
    full, _ = how.bar
    tops = [max((amounts[i] for _, amounts in bars.rows), default=0.0) or 1.0 for i in range(len(bars.columns))]
    labels = max((how.text(label).cell_len for label, _ in bars.rows), default=0)
    size = max(8, (how.width - labels - 12 * len(tops)) // max(1, len(tops)))
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    grid.add_column(justify="right", no_wrap=True)
    for column in bars.columns:
        grid.add_column(how.text(column), no_wrap=True)
    for label, amounts in bars.rows:
        cells = [
            Text.assemble((full * _length(amount, top, size), "cyan"), how.text(f" {number(amount)}", "dim"))
            for amount, top in zip(amounts, tops, strict=True)
        ]
        grid.add_row(how.text(label), *cells)
    return grid


def _stacks(stacks: Stacks, how: TerminalStyle) -> RenderableType:
    """A stacked bar for each row, on one scale; the line at which the capacity ends stands in each of them."""
    labels = [how.text(label) for label, _ in stacks.rows]
    rooms = [stacks.room(amounts) for _, amounts in stacks.rows]
    beside = max(label.cell_len for label in labels) + max(map(len, rooms)) + 4
    size = max(16, how.screen - beside - 1)
    end = round(size * stacks.capacity / stacks.top)
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(no_wrap=True)
    for label, room, (_, amounts) in zip(labels, rooms, stacks.rows, strict=True):
        over = sum(amounts) > stacks.capacity
        grid.add_row(label, _stack(amounts, size / stacks.top, end, how), how.text(room, "bold red" if over else "dim"))
    marks = [*((_ink(i, how), part) for i, part in enumerate(stacks.columns)), (_limit(how), stacks.line)]
    words = [Text.assemble(mark, how.text(f" {name}")) for mark, name in marks]
    return how.wide(Group(grid, Columns(words, padding=(0, 3))))


def _stack(amounts: Sequence[float], scale: float, end: int, how: TerminalStyle) -> Text:
    """The parts one after the other, dots where room is left, and the line after `end` columns."""
    bar = Text()
    filled = 0
    for i, total in enumerate(accumulate(amounts)):
        place = round(total * scale)
        bar.append_text(_ink(i, how, max(0, place - filled)))
        filled = max(filled, place)
    bar.append(how.room * max(0, end - filled), style="dim")
    return Text.assemble(bar[:end], _limit(how), bar[end:])


def _limit(how: TerminalStyle) -> Text:
    return Text(how.frame[LinkStatus.OK].vertical, style="bold")


def _ink(place: int, how: TerminalStyle, times: int = 1) -> Text:
    """A part of a stack: told apart by its colour, and by its pattern where there is none."""
    return Text(how.inks[place % len(how.inks)] * times, style=_HUES[place % len(_HUES)])


_HUES = ("blue", "yellow", "magenta", "cyan", "green", "red", "bright_blue", "bright_black")


def _length(amount: float, top: float, size: int) -> int:
    """The length of a bar. A positive amount has at least one column."""
    return 0 if amount <= 0 else max(1, round(size * amount / top))
