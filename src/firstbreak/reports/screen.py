"""One screen: the verdict, the loop, what broke with its curve, the causes in question, what to log; one finding or cause alone.

`terminal` lays out the whole report.
"""

from collections.abc import Iterator
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from firstbreak.engine.verdict import in_short
from firstbreak.model import Diagnosis, Link, Outcome, RankedCause
from firstbreak.reports import brief, content, curves, sparkline, terminal
from firstbreak.reports.content import Exhibit, ReportLine
from firstbreak.reports.terminal_style import APART, STYLE, Page, TerminalStyle
from firstbreak.reports.text import shorter
from firstbreak.values import replace
from firstbreak.words import link_word, percent, shortened

LINKS = 70  # columns of five links beside each other
FIRST_WORDS, WORDS = 42, 28  # of the first action and the first finding, and of another finding
BESIDE = 120  # columns from which the score is drawn beside the curve of the first finding
NAME = 28  # columns for the name of a curve in one row


def render(dx: Diagnosis, width: int = 80, color: bool = False, encoding: str = "utf-8") -> str:
    """One screen as a string, with ANSI colours where `color` is true and NO_COLOR is not set."""
    return renderable(dx).string(width, color, encoding)


def renderable(dx: Diagnosis) -> Page:
    """One screen for `rich.print`, with width, colours and encoding from the console."""
    return Page(partial(_parts, dx))


def _parts(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    yield terminal.head(dx, how, brief.LONGEST)
    yield how.text(brief.title(dx), "dim")
    yield Text()
    yield how.text(brief.summary(dx), "bold")
    first = how.text(brief.clipped(dx.verdict.do_first, FIRST_WORDS))
    yield how.hanging(how.text("Do this first:", STYLE[content.mark(dx.verdict)]), first)
    yield Text()
    yield links(dx, how)
    if marks := ", ".join(f"{how.symbol[status]} {word}" for status, word in brief.marks(dx)):
        yield how.text(marks, "dim")
    for i, outcome in enumerate(brief.findings(dx)):
        if i == 0:
            yield Text()
        yield from _finding(dx, outcome, i == 0, how)
    if not brief.findings(dx) and (curve := brief.score(dx)):
        yield Text()
        yield from terminal.exhibit(dx, curve, how, brief.caption(curve))
    yield Text()
    yield how.table(brief.rest(dx))


def explained(dx: Diagnosis, name: str) -> Page:
    """One check, cause or link of a run with its evidence; without a name, what there is. Raises `Unreadable` for another."""
    return Page(partial(_explained, dx, brief.named(dx, name) if name else None))


def _explained(
    dx: Diagnosis, what: Outcome | RankedCause | Link | None, how: TerminalStyle
) -> Iterator[RenderableType]:
    yield terminal.head(dx, how)
    if what is None or isinstance(what, Link):
        yield from _list(dx, what, how)
        return
    yield Text()
    yield from _outcome(dx, what, how) if isinstance(what, Outcome) else _cause(dx, what, how)
    yield Text()
    name = what.detector if isinstance(what, Outcome) else what.id
    yield how.text(f"What {name} is in any run: firstbreak explain {name}", "dim")


def _list(dx: Diagnosis, link: Link | None, how: TerminalStyle) -> Iterator[RenderableType]:
    """What can be explained of a run, or of one link of it."""
    if link is not None:
        yield Text()
        yield how.text(f"{link_word(link)}: {content.status_word(dx, link)}", "bold")
    parts = brief.explainable(dx, link)
    if link is not None and "Findings" not in parts:
        yield how.text(dx.links[link].why)
    for heading, lines in parts.items():
        yield from how.section(heading)
        yield how.table(lines)
    yield Text()
    yield how.text("One of these with its evidence: firstbreak explain RUN NAME", "dim")


def _outcome(dx: Diagnosis, outcome: Outcome, how: TerminalStyle) -> Iterator[RenderableType]:
    if outcome.finding is None:
        yield how.text(outcome.detector, "bold")
        yield how.indented(how.text(": ".join(filter(None, (content.OUTCOME_WORD[outcome.status], outcome.note)))))
        return
    yield from terminal.finding(dx, outcome, content.exhibits(dx, outcome.finding), how)
    facts = ("Numbers", brief.numbers(dx.run, outcome.finding)), ("Rows", brief.rows(dx, outcome.finding))
    if told := [ReportLine(label, shorter(text)) for label, text in facts if text]:
        yield Text()
        yield how.table(told)
    if weighed := brief.weighed(dx, outcome):
        yield from how.section("What it says of each cause")
        yield how.table(weighed)


def _cause(dx: Diagnosis, cause: RankedCause, how: TerminalStyle) -> Iterator[RenderableType]:
    place = content.cause_place(cause)
    yield how.text(f"{percent(cause.probability)} {cause.title}" + (f" ({place})" if place else ""), "bold")
    if evidence := content.evidence(dx, cause):
        yield from how.section("Evidence")
        yield how.table(evidence)
    if cause.fix or cause.experiment is not None:
        yield from how.section("What to do")
        yield from terminal.remedy(dx, cause, how)


def links(dx: Diagnosis, how: TerminalStyle) -> Table:
    """The ten links with their marks, in two rows of five where there is room."""
    table = Table.grid(padding=(0, 2))
    beside = 5 if how.width >= LINKS else 2
    for _ in range(beside):
        table.add_column(no_wrap=True)
    marked = ((link, dx.links[link].status) for link in Link)
    cells = [how.text(f"{how.symbol[status]} {link_word(link)}", STYLE[status]) for link, status in marked]
    for i in range(0, len(cells), beside):
        table.add_row(*cells[i : i + beside])
    return table


def _finding(dx: Diagnosis, outcome: Outcome, first: bool, how: TerminalStyle) -> Iterator[RenderableType]:
    """A finding with its curve: the first with its axes, the others in one row."""
    finding = content.found(outcome)
    told = dx.first_break is not None and outcome.detector == dx.first_break.detector  # where and since when
    yield terminal.named(outcome, how, how.text("" if told else f"  {brief.place(dx, outcome)}", "dim"))
    if said := brief.beyond_summary(dx, finding) if first else in_short(finding):
        yield how.indented(how.text(brief.clipped(said, FIRST_WORDS if first else WORDS)))
    curve = brief.curve(dx, finding)
    if curve is None or curve.series is None:
        return
    score = brief.score(dx)
    if not first:
        yield _row(curve, how)
    elif how.screen < BESIDE or score is None or score.series is None or score.series.name == curve.series.name:
        yield from terminal.exhibit(dx, curve, how, brief.caption(curve))
    else:
        half = (how.screen - APART) // 2
        narrow = replace(how, screen=half, width=half)
        left, right = (Group(*terminal.exhibit(dx, one, narrow, brief.caption(one))) for one in (curve, score))
        yield how.side_by_side(left, right, half)


def _row(curve: Exhibit, how: TerminalStyle) -> RenderableType:
    assert curve.series is not None
    drawn = curves.level(curve.series) or sparkline.line(curve.series, how.width - NAME - 4, how.ink)
    name = how.text(f"{shortened(content.own_name(curve.series), NAME):{NAME}} ", "dim")
    return how.indented(Text.assemble(name, how.text(drawn, "cyan"), no_wrap=True, overflow="crop"))
