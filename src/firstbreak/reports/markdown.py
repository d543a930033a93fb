"""The diagnosis as GitHub-flavoured Markdown, for a pull request or a logbook: the verdict as a table, the rest folded in."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from firstbreak.model import Diagnosis, Link, LinkStatus, Outcome
from firstbreak.reports import content, reference, sparkline
from firstbreak.reports.content import ReportLine, Section
from firstbreak.reports.text import spans, visible
from firstbreak.words import link_word, percent

T = TypeVar("T")

PLOT_WIDTH = 76
_INLINE = re.compile(r"[\\`*\[\]<>|~&$@]|(?<![^\W_])_|_(?![^\W_])")
_BLOCK = re.compile(r"\A(\s*)([#>]|[+=-](?=[\s=-]|\Z)|\d+(?=[.)](?:\s|\Z)))")
_AUTOLINK = re.compile(r"(?i)(?<=[a-z])(:)(?=//)|(?<=www)(\.)")
_EMPHASIS = {LinkStatus.BROKEN: "**{}**", LinkStatus.SUSPECT: "*{}*"}


def render(dx: Diagnosis) -> str:
    """The document."""
    return "\n".join(_document(dx)).rstrip()


def prose(text: str) -> str:
    """`text` as plain Markdown text: no emphasis, link, HTML, table cell, heading or mathematics.

    Text between backticks is code, as in all messages of firstbreak. Code with a pipe is written as plain text, because a pipe
    ends a table cell.
    """
    pieces = (
        f"`{piece}`" if code and "|" not in piece else _escaped(piece, code) for piece, code in spans(visible(text))
    )
    return _BLOCK.sub(_at_start, "".join(pieces).strip())


def _at_start(found: re.Match[str]) -> str:
    r"""Escape the start of a list, a heading or a quotation: `1.` becomes `1\.`, `#` becomes `\#`."""
    return f"{found[1]}{found[2]}\\" if found[2].isdigit() else f"{found[1]}\\{found[2]}"


def _escaped(text: str, quoted: bool) -> str:
    text = _INLINE.sub(r"\\\g<0>", f"`{text}`" if quoted else text)
    return _AUTOLINK.sub(r"\\\g<0>", text)


def code(text: str) -> str:
    """`text` as a code span, with more backticks around it than inside. Not for table cells, where a pipe ends the cell."""
    text = visible(text)
    if not text.strip():
        return prose(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _document(dx: Diagnosis) -> Iterator[str]:
    yield from _verdict(dx)
    yield ""
    for section in content.sections(dx):
        if section in (Section.VERDICT, Section.DO_FIRST):
            continue
        yield "<details>"
        yield f"<summary>{section.heading}</summary>"
        yield ""
        yield from _SECTIONS[section](dx)
        yield ""
        yield "</details>"
        yield ""


def _verdict(dx: Diagnosis) -> Iterator[str]:
    yield f"# {content.ACTION_WORD[content.mark(dx.verdict)]}: {code(dx.run.path)}"
    yield ""
    yield f"**{prose(dx.verdict.summary)}**"
    yield ""
    first, *rest = content.summary_table(dx)
    yield f"| {first.label} | {_cell(first.text)} |"
    yield "|---|---|"
    yield from (f"| {line.label} | {_cell(line.text)} |" for line in rest)


def _cell(text: str) -> str:
    return " ".join(prose(text).split())


def _loop(dx: Diagnosis) -> Iterator[str]:
    yield f"{prose(content.headline(dx)).capitalize()}."
    yield ""
    yield "| | link | status |"
    yield "|--:|---|---|"
    for link in Link:
        word = _EMPHASIS.get(dx.links[link].status, "{}").format(content.status_word(dx, link))
        yield f"| {link.order + 1} | {link_word(link)} | {word} |"
    reasons = [f"{link_word(link)} ({status}): {why}" for link, status, why in content.link_reasons(dx)]
    reasons += [relations] if (relations := content.relations_line(dx)) else []
    if reasons:
        yield ""
        yield from _bullets(reasons)


def _findings(dx: Diagnosis) -> Iterator[str]:
    for i, outcome in enumerate(dx.findings):
        if i:
            yield ""
        yield from _finding(dx, outcome)
    yield ""
    yield prose(content.EXPLAINED)


def _finding(dx: Diagnosis, outcome: Outcome) -> Iterator[str]:
    finding = content.found(outcome)
    yield f"### {content.SEVERITY_WORD[finding.severity].capitalize()}: {_linked(outcome.detector, outcome.detector)}"
    yield ""
    yield f"*{prose(', '.join(content.finding_facts(dx, outcome)))}*"
    yield ""
    yield prose(finding.message)
    for exhibit in content.exhibits_once(dx, finding):
        yield ""
        yield prose(content.caption(exhibit))
        if exhibit.series is not None:
            domain = content.domain(dx, exhibit.series)
            yield ""
            yield "```text"
            yield from sparkline.draw(exhibit.series, domain, PLOT_WIDTH, exhibit.onset, exhibit.interval)
            yield "```"


def _linked(name: str, text: str) -> str:
    """The words for a detector or a cause, which lead to its page where the environment names a site."""
    address = reference.address(name)
    return prose(text) if address is None else f"[{prose(text)}](<{address}>)"


def _causes(dx: Diagnosis) -> Iterator[str]:
    yield "| probability | cause | link |"
    yield "|--:|---|---|"
    for cause in content.causes(dx):
        title = _linked(cause.id, cause.title)
        yield f"| {percent(cause.probability)} | {title} | {content.cause_place(cause)} |"
    if content.other_causes(dx):
        yield ""
        yield content.other_causes(dx).capitalize() + "."
    for cause in content.argued(dx):
        yield ""
        yield f"Why {percent(cause.probability)}: {prose(cause.title)}"
        yield ""
        yield from (
            f"- {f'**{line.label}:** ' if line.label else ''}{prose(line.text)}" for line in content.evidence(dx, cause)
        )


def _remedy(dx: Diagnosis) -> Iterator[str]:
    for i, cause in enumerate(content.remedies(dx)):
        if i:
            yield ""
        yield f"### {prose(cause.title)}"
        yield ""
        yield from _bullets(f"Fix: {fix}" for fix in cause.fix)
        if cause.experiment is not None:
            yield from _labelled(content.experiment(dx.run, cause.experiment))


def _not_measured(dx: Diagnosis) -> Iterator[str]:
    yield from _labelled(content.unmeasured_links(dx))
    yield from _bullets(content.further_unmeasured(dx))


def _labelled(lines: Iterable[ReportLine]) -> Iterator[str]:
    for line in lines:
        yield f"- **{prose(line.label)}:** {code(line.text) if line.literal else prose(line.text)}"


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    return (f"- {prose(line)}" for line in lines)


def _of(
    write: Callable[[Iterable[T]], Iterator[str]], lines: Callable[[Diagnosis], Iterable[T]]
) -> Callable[[Diagnosis], Iterator[str]]:
    return lambda dx: write(lines(dx))


_SECTIONS: dict[Section, Callable[[Diagnosis], Iterator[str]]] = {
    **{section: _of(_labelled, lines) for section, lines in content.LABELLED.items()},
    **{section: _of(_bullets, lines) for section, lines in content.LISTED.items()},
    Section.LOOP: _loop,
    Section.FINDINGS: _findings,
    Section.CAUSES: _causes,
    Section.REMEDY: _remedy,
    Section.NOT_MEASURED: _not_measured,
}
