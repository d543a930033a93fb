"""The diagnosis on a terminal, never wider than the screen, readable without colour or Unicode.

Text has at most 100 columns. A wider screen has longer curves, and parts that belong together beside each other.
"""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from firstbreak.model import Diagnosis, Link, LinkStatus, Outcome, RankedCause
from firstbreak.reports import content, curves, sparkline
from firstbreak.reports.content import ReportLine, Section
from firstbreak.reports.terminal_style import APART, STYLE, Page, TerminalStyle
from firstbreak.words import link_word, percent, shortened

_Section = Callable[[Diagnosis, TerminalStyle], Iterator[RenderableType]]

BOX = 15  # columns of one link in the picture of the loop, "policy update" and its frame
RING = 5 * BOX + 4  # columns of the picture of the loop
BAR = 20  # columns of a probability of 1
WEIGHTS = 60  # columns of a table of weights
BESIDE = 50  # columns that text needs beside something else


def render(dx: Diagnosis, width: int = 80, color: bool = False, encoding: str = "utf-8") -> str:
    """The report as a string, with ANSI colours where `color` is true and NO_COLOR is not set."""
    return renderable(dx).string(width, color, encoding)


def renderable(dx: Diagnosis) -> Page:
    """The report for `rich.print`, with width, colours and encoding from the console."""
    return Page(partial(_parts, dx))


def _parts(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    sections = content.sections(dx)
    beside = [s for s in _BESIDE_THE_LOOP if s in sections] if how.screen >= RING + APART + BESIDE else []
    for section in sections:
        if section is Section.LOOP and beside:
            right = [part for s in beside for part in _section(s, dx, how)]
            yield Text()
            yield how.side_by_side(Group(*_headed(section, dx, how)), Group(*right[1:]), RING)
        elif section not in beside:
            yield from _section(section, dx, how)


def _section(section: Section, dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    if section is not Section.VERDICT:
        yield Text()
    yield from _headed(section, dx, how)


def _headed(section: Section, dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    if section not in (Section.VERDICT, Section.DO_FIRST):
        yield how.heading(section.heading)
    yield from _SECTIONS[section](dx, how)


def head(dx: Diagnosis, how: TerminalStyle, longest: int = sys.maxsize) -> Text:
    """The first line of a report: the action and the run, in at most so many letters."""
    action = content.mark(dx.verdict)
    word = Text(f" {how.symbol[action]} {content.ACTION_WORD[action].upper()} ", style=f"{STYLE[action]} reverse")
    return Text.assemble(word, "  ", how.text(shortened(dx.run.path, longest), "bold"), overflow="fold")


def _verdict(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    about = content.title(dx.run)
    yield head(dx, how)
    if about:
        yield how.text(about, "dim")
    yield Text()
    yield how.text(dx.verdict.summary, "bold")


def _do_first(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    yield how.hanging(
        how.text(Section.DO_FIRST.heading + ":", STYLE[content.mark(dx.verdict)]), how.text(dx.verdict.do_first)
    )


def _loop(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    yield _ring(dx, how) if how.width >= RING else _list(dx, how)
    for link, status, why in content.link_reasons(dx):
        yield how.bullet(f"{link_word(link)} ({status}): {why}")
    if relations := content.relations_line(dx):
        yield how.text(relations, "dim")


def _list(dx: Diagnosis, how: TerminalStyle) -> RenderableType:
    """The loop on a narrow screen: one line for each link."""
    rows = [Text()]
    for link in Link:
        status = dx.links[link].status
        line = f"{link.order + 1:>3} {how.symbol[status]} {link_word(link):<14} {content.status_word(dx, link)}"
        rows.append(Text(line, style=STYLE[status]))
    return Group(*rows[1:])


def _ring(dx: Diagnosis, how: TerminalStyle) -> RenderableType:
    """Two rows of five boxes: the upper row from left to right, the lower row from right to left."""
    right, down, left, up = how.arrows
    links = list(Link)
    upper, lower = links[:5], links[:4:-1]
    between = Text.assemble(
        up.center(BOX), how.text(content.headline(dx)[: 3 * BOX].center(3 * BOX + 4), "dim"), down.center(BOX)
    )
    return Group(*_row(dx, upper, right, how), between, *_row(dx, lower, left, how))


def _row(dx: Diagnosis, links: list[Link], arrow: str, how: TerminalStyle) -> list[Text]:
    boxes = [_box(link, dx.links[link].status, content.status_word(dx, link), how) for link in links]
    joints = (" ", arrow, " ", " ")
    return [Text(joint).join(parts) for joint, parts in zip(joints, zip(*boxes, strict=True), strict=True)]


def _box(link: Link, status: LinkStatus, word: str, how: TerminalStyle) -> list[Text]:
    frame, style, inner = how.frame[status], STYLE[status], BOX - 2
    top_left, top_right, bottom_right, bottom_left = frame.corners
    number, symbol = f" {link.order + 1} ", f" {how.symbol[status]} "
    rows = (
        f"{top_left}{number:{frame.horizontal}<{inner - len(symbol)}}{symbol}{top_right}",
        f"{frame.vertical}{link_word(link):^{inner}}{frame.vertical}",
        f"{frame.vertical}{word:^{inner}}{frame.vertical}",
        f"{bottom_left}{frame.horizontal * inner}{bottom_right}",
    )
    return [Text(row, style=style) for row in rows]


def _findings(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    for i, outcome in enumerate(dx.findings):
        if i:
            yield Text()
        yield from _finding(dx, outcome, how)
    yield Text()
    yield how.text(content.EXPLAINED, "dim")


def _finding(dx: Diagnosis, outcome: Outcome, how: TerminalStyle) -> Iterator[RenderableType]:
    yield from finding(dx, outcome, content.exhibits_once(dx, content.found(outcome)), how)


def finding(
    dx: Diagnosis, outcome: Outcome, exhibits: Sequence[content.Exhibit], how: TerminalStyle
) -> Iterator[RenderableType]:
    """A finding with its name, its facts, its message and its curves."""
    yield named(outcome, how)
    yield how.indented(how.text(", ".join(content.finding_facts(dx, outcome)), "dim"))
    yield how.indented(how.text(content.found(outcome).message))
    for shown in exhibits:
        yield from exhibit(dx, shown, how)


def named(outcome: Outcome, how: TerminalStyle, *more: Text) -> Text:
    """The severity and the name of a finding."""
    severity = content.found(outcome).severity
    word = Text(f"{how.symbol[severity]} {content.SEVERITY_WORD[severity].upper()} ", style=STYLE[severity])
    name = how.text(outcome.detector, _linked(outcome.detector, "bold"))
    return Text.assemble(word, name, *more, overflow="fold")


def _linked(name: str, style: str) -> str:
    """The style of a name, which leads to its page where the environment names a site and the terminal knows links (OSC 8)."""
    if "FIRSTBREAK_DOCS" not in os.environ:  # `reference.SITE`, without the pages
        return style
    from firstbreak.reports import reference

    address = reference.address(name)
    return style if address is None else f"{style} link {address}"


def exhibit(dx: Diagnosis, shown: content.Exhibit, how: TerminalStyle, caption: str = "") -> Iterator[RenderableType]:
    """A curve of a finding, with its caption or a shorter one."""
    yield how.indented(how.text(caption or content.caption(shown), "dim"))
    if shown.series is None:
        return
    if flat := curves.level(shown.series):
        yield how.indented(how.text(flat, "cyan"))
        return
    domain = content.domain(dx, shown.series)
    rows = sparkline.draw(shown.series, domain, how.screen - 2, shown.onset, shown.interval, how.ink)
    plot = how.lines(rows)
    plot.stylize("cyan", 0, len("\n".join(rows[:2])))
    plot.highlight_regex(f"[{how.ink.between}{how.ink.onset}{how.ink.gap}]", "bold red")
    yield how.wide(how.indented(plot))


def _causes(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    full, empty = how.bar
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for cause in content.causes(dx):
        filled = round(cause.probability * BAR)
        bar = Text.assemble((full * filled, "cyan"), (empty * (BAR - filled), "dim"))
        place = content.cause_place(cause)
        title = Text.assemble(
            how.text(cause.title, _linked(cause.id, "bold")), how.text(f" ({place})" if place else "", "dim")
        )
        table.add_row(bar, Text(percent(cause.probability)), title)
    yield table
    if content.other_causes(dx):
        yield how.text(content.other_causes(dx), "dim")
    for cause in content.argued(dx):
        yield Text()
        yield how.text(f"Why {percent(cause.probability)}: {cause.title}")
        yield how.indented(how.table(content.evidence(dx, cause)))


def _remedy(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    for cause in content.remedies(dx):
        yield how.text(cause.title, "bold")
        yield from remedy(dx, cause, how)


def remedy(dx: Diagnosis, cause: RankedCause, how: TerminalStyle) -> Iterator[RenderableType]:
    """The fixes of a cause, and the experiment that shows whether it is the cause."""
    for fix in cause.fix:
        yield how.bullet(f"Fix: {fix}")
    if cause.experiment is not None:
        yield how.indented(how.table(content.experiment(dx.run, cause.experiment)))


def _not_measured(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    yield how.table(content.unmeasured_links(dx))
    yield from (how.bullet(line) for line in content.further_unmeasured(dx))


def _labelled(lines: Callable[[Diagnosis], Sequence[ReportLine]]) -> _Section:
    return lambda dx, how: iter((how.table(lines(dx)),))


def _listed(lines: Callable[[Diagnosis], Sequence[str]]) -> _Section:
    return lambda dx, how: (how.bullet(line) for line in lines(dx))


_BESIDE_THE_LOOP = (Section.FIRST_BREAK, Section.BASELINE, Section.OUTLOOK)
_SECTIONS: dict[Section, _Section] = {
    **{section: _labelled(lines) for section, lines in content.LABELLED.items()},
    **{section: _listed(lines) for section, lines in content.LISTED.items()},
    Section.VERDICT: _verdict,
    Section.DO_FIRST: _do_first,
    Section.LOOP: _loop,
    Section.FINDINGS: _findings,
    Section.CAUSES: _causes,
    Section.REMEDY: _remedy,
    Section.NOT_MEASURED: _not_measured,
}
