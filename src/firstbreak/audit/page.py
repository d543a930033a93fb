"""The page on which a person reads and marks samples: one file, without external resources, with all text escaped.

The reward and step of a sample are hidden at first and the order is random, so that they do not influence the reader. Above
the samples stand what the audit found and its tables, all open. Marks are saved as a download. The page can be read without
JavaScript.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

from firstbreak.audit.audit import Audit
from firstbreak.audit.marks import MARKS, key_of
from firstbreak.audit.sections import AuditTable, tables
from firstbreak.audit.selection import SelectedSample
from firstbreak.model import EMPTY, Evidence, Finding, Outcome
from firstbreak.reports.content import Exhibit
from firstbreak.reports.html import digest, figure, prose, severity, stylesheet, whole_page
from firstbreak.reports.markup import Markup, element, escape
from firstbreak.words import number

MOST = 20_000  #: characters of a text that are shown


def render(audit: Audit, marks: Mapping[str, str] = EMPTY) -> str:
    """The page. `marks`: what was said of samples before, by their keys."""
    style, script = Markup(stylesheet() + _resource("page.css")), Markup(_resource("page.js"))
    selected = random.Random(0).sample(audit.selected, len(audit.selected))  # the order must not reveal the kind
    main = element(
        "main", _summary(audit), *_tables(audit), _reading(selected, marks), _evidence(audit), data_path=audit.path
    )
    policy = f"style-src {digest(style)}; script-src {digest(script)}"
    return whole_page(f"Samples: {audit.path}", "audit", style, policy, main, element("script", script), kind=" audit")


@cache
def _resource(name: str) -> str:
    return resources.files("firstbreak.audit").joinpath(name).read_text("utf-8")


def _summary(audit: Audit) -> Markup:
    found = [outcome for outcome in audit.findings if outcome.finding is not None]
    items = (_finding(outcome, outcome.finding) for outcome in found if outcome.finding is not None)
    said = element("ul", *items) if found else element("p", "The audit found nothing. Read a few samples anyway.")
    return element(
        "section",
        element("p", element("code", audit.path, dir="auto"), class_="run"),
        element("details", element("summary", f"What the audit found ({len(found)})"), said, open=True),
        class_="summary",
    )


def _finding(outcome: Outcome, finding: Finding) -> Markup:
    said = element("p", prose(finding.message))
    return element("li", severity(finding), " ", element("code", outcome.detector), said)


def _tables(audit: Audit) -> Iterator[Markup]:
    """Scores, behaviour, components and diversity, open, as the terminal has them."""
    for part in tables(audit):
        yield element(
            "section",
            element("h2", part.title),
            _table(part) if part.rows else None,
            element("ul", *(element("li", _text(said)) for said in part.lines)) if part.lines else None,
            *(element("p", said, class_="facts") for said in part.notes),
            class_="table",
        )


def _table(part: AuditTable) -> Markup:
    column = ["number" if i >= part.words else None for i in range(len(part.head))]

    def line(kind: str, cells: Sequence[str], scope: str | None = None) -> Markup:
        of_column = zip(cells, column, strict=True)
        return element("tr", *(element(kind, cell, scope=scope, class_=class_) for cell, class_ in of_column))

    head, body = line("th", part.head, "col"), (line("td", row) for row in part.rows)
    table = element("table", element("thead", head), element("tbody", *body))
    return element("div", table, class_="wide", role="region", aria_label=part.title, tabindex="0")


def _reading(selected: list[SelectedSample], marks: Mapping[str, str]) -> Markup:
    buttons = (
        element(
            "button", word.capitalize(), element("kbd", str(i)), type="button", data_mark=word, aria_pressed="false"
        )
        for i, word in enumerate(MARKS, 1)
    )
    bar = element(
        "nav",
        element("button", "‹", type="button", data_go="-1", aria_label="Previous sample (left arrow)"),
        *buttons,
        element("button", "›", type="button", data_go="1", aria_label="Next sample (right arrow)"),
        aria_label="Mark this sample",
        class_="marking",
    )
    status = element(
        "p",
        element("span", "", class_="place"),
        element("span", "", class_="saved", role="status"),
        element("button", "Save marks", element("kbd", "s"), type="button", class_="save"),
        class_="progress",
    )
    return element(
        "section",
        element("h2", "Read and mark"),
        element(
            "p",
            "Keep: a good answer that deserves its reward. Hack: a trick that gets a reward. Unsure: ask a second reader.",
            class_="how",
        ),
        status,
        *(_sample(i, chosen, marks.get(key_of(chosen.sample), "")) for i, chosen in enumerate(selected, 1)),
        bar,
        class_="reading",
    )


def _sample(i: int, chosen: SelectedSample, mark: str) -> Markup:
    sample = chosen.sample
    rewards = (element("li", element("code", name), f" {number(value)}") for name, value in sample.rewards.items())
    said = f"Reward {number(sample.reward)}, step {number(sample.step)}"
    earned = element(
        "details",
        element("summary", "Its reward, and why it was selected", element("kbd", "r")),
        element("p", f"{said}. {chosen.kind.capitalize()}: {chosen.why}."),
        element("ul", *rewards) if sample.rewards else None,
        class_="earned",
    )
    return element(
        "article",
        element("h3", f"Sample {i}"),
        element("h4", "Prompt"),
        element("pre", _text(sample.prompt), dir="auto", tabindex="0"),
        element("h4", "Completion"),
        element("pre", _text(sample.completion), dir="auto", class_="completion", tabindex="0"),
        earned,
        data_key=key_of(sample),
        data_mark=mark,
        class_="sample",
    )


def _text(text: str) -> Markup:
    """A text with its line breaks. Other control characters are made visible."""
    shown = text[:MOST].replace("\r\n", "\n").replace("\t", "    ")
    more = f"\n[... {len(text) - MOST:,} more characters]" if len(text) > MOST else ""
    return Markup("\n".join(escape(line) for line in (shown + more).split("\n")))


def _evidence(audit: Audit) -> Markup | None:
    evidence = [(o.finding, item) for o in audit.findings if o.finding for item in o.finding.evidence]
    shown = [(finding, item) for finding, item in evidence if item.series is not None and len(item.series) > 1]
    figures = [_figure(finding, item, f"f{i}") for i, (finding, item) in enumerate(shown)]
    if not figures:
        return None
    drawn = element("details", element("summary", "Curves"), *figures, open=True)
    return element("section", element("h2", "Evidence"), drawn, class_="finding evidence")


def _figure(finding: Finding, item: Evidence, uid: str) -> Markup:
    series = item.series
    assert series is not None
    exhibit = Exhibit(item.text, series, finding.onset, finding.interval, item.since)
    return figure(exhibit, series, (float(series.steps[0]), float(series.steps[-1])), uid)
