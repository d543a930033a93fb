"""The report of a pre-flight check as a web page: one file without scripts and external resources."""

from collections.abc import Iterator

from firstbreak.model import Outcome
from firstbreak.preflight import Bars, Exhibit, Report, ReportTable, Stacks
from firstbreak.reports import content, svg
from firstbreak.reports.content import ReportLine
from firstbreak.reports.html import ICON, document, icon, literal, pairs, prose, severity, table
from firstbreak.reports.markup import Markup, element, join
from firstbreak.reports.preflight import QUIET, summary, verdict
from firstbreak.words import number


def render(report: Report) -> str:
    """One self-contained page."""
    title = f"{verdict(report)}: {report.check} {report.target}"
    return document(title, article(report), about=f"check {report.check}")


def article(report: Report) -> Markup:
    """The report, for a page with the styles."""
    action = report.action
    run, said = (
        element("p", literal(report.target), class_="run"),
        element("p", prose(summary(report)), class_="summary"),
    )
    head = element("section", run, element("h2", icon(ICON[action]), verdict(report)), said, class_="verdict")
    return element("article", head, *_parts(report), class_=f"preflight {action.value}")


def _parts(report: Report) -> Iterator[Markup]:
    if report.findings:
        yield _under("What was found", *map(_finding, report.findings))
    for exhibit in report.exhibits:
        yield _under(exhibit.title, drawn(exhibit))
    for status, (heading, _) in QUIET.items():
        quiet = [ReportLine(o.detector, o.note) for o in report.outcomes if o.status is status]
        if quiet:
            yield _under(heading, pairs(quiet))
    if report.checked:
        yield _under("What was checked", pairs(ReportLine(*line) for line in report.checked))


def _under(heading: str, *parts: Markup) -> Markup:
    return element("section", element("h2", heading), *parts)


def _finding(outcome: Outcome) -> Markup:
    finding = content.found(outcome)
    shown = (element("p", prose(item.text), class_="evidence") for item in finding.evidence)
    head = element("h3", severity(finding), " ", element("code", outcome.detector))
    return element("section", head, element("p", prose(finding.message)), *shown, class_="finding")


def drawn(exhibit: Exhibit) -> Markup:
    """A table, bars, or stacked bars."""
    match exhibit:
        case ReportTable():
            return table(exhibit.columns, exhibit.rows, "exhibit", exhibit.title)
        case Bars():
            return _bars(exhibit)
        case Stacks():
            return _stacks(exhibit)


def _bars(bars: Bars) -> Markup:
    """Each column is scaled to its own maximum, so histograms can be compared in shape."""
    tops = [max((amounts[i] for _, amounts in bars.rows), default=0.0) or 1.0 for i in range(len(bars.columns))]
    rows = [
        [label, *(join(svg.share(a / top), number(a)) for a, top in zip(amounts, tops, strict=True))]
        for label, amounts in bars.rows
    ]
    return table(("", *bars.columns), rows, "exhibit", bars.title)


def _stacks(stacks: Stacks) -> Markup:
    key = (element("li", part, class_=f"part-{i}") for i, part in enumerate(stacks.columns))
    rows = (
        element(
            "li",
            element("span", label),
            svg.stack([(part, a) for part, a in zip(stacks.columns, amounts, strict=True)], stacks, label),
            element("span", stacks.room(amounts), class_="over" if sum(amounts) > stacks.capacity else None),
        )
        for label, amounts in stacks.rows
    )
    legend = element("ul", *key, element("li", stacks.line, class_="line"))
    return element("div", element("ol", *rows), legend, class_="stacks")
