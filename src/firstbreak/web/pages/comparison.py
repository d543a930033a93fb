"""Runs side by side: what differs, where the curves part first, whether the difference is real, and the curves themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from firstbreak.compare.arms import Arm, arms, differences
from firstbreak.compare.judge import Judgement, judge
from firstbreak.compare.partings import partings
from firstbreak.compare.statistics import Estimate
from firstbreak.model import Interval, Link, Run, Series
from firstbreak.reports import html, inspection, story
from firstbreak.reports.markup import Markup, element, join
from firstbreak.web.pages.frame import address, badge, frame, section
from firstbreak.web.pages.plots import plot, plots
from firstbreak.web.shelf import Line
from firstbreak.words import number, percent

MOST_DIFFERENCES = 60  #: packages alone can be hundreds


def page(compared: Sequence[tuple[Line, Run]]) -> str:
    """Every run against the first one."""
    names = [line.name for line, _ in compared]
    sides = arms([(line.name, [run]) for line, run in compared])
    parts = (
        ("runs", "The runs", _runs(compared)),
        ("differences", "What differs", _differences(sides)),
        *(
            (f"parts-{i}", f"{sides[0].name} and {other.name}", _against(sides[0], other))
            for i, other in enumerate(sides[1:])
        ),
        ("curves", "Curves", plots(names, _curves([run for _, run in compared]))),
    )
    sections = (section(key, title, content) for key, title, content in parts if content)
    return frame("Comparison", (element("h1", f"{len(compared)} runs compared"),), *sections)


def _runs(compared: Sequence[tuple[Line, Run]]) -> Markup:
    rows = (
        element(
            "tr",
            element("td", element("span", class_=f"swatch run-{i}", aria_hidden="true")),
            element("th", element("a", html.literal(line.name), href=address("run", line.name)), scope="row"),
            element("td", badge(line), class_=line.action.value if line.action else None),
            element("td", f"{line.first_break}, at {line.since}" if line.since else line.first_break or "none seen"),
            element("td", f"{line.cause} ({percent(line.probability)})" if line.cause else ""),
        )
        for i, (line, _) in enumerate(compared)
    )
    return _table(("", "Run", "Verdict", "First break", "Most probable"), rows, "runs compared")


def _differences(sides: Sequence[Arm]) -> Markup:
    if len(sides) == 1:
        return element("p", "Nothing but seed and task: these are runs of one setting.")
    found = sorted(differences(sides), key=lambda d: None in d.values)  # what all say comes before what one leaves open
    if not found:
        return element("p", "Nothing that is recorded differs: configuration, code, data and seeds are the same.")
    rows = (
        element(
            "tr",
            element("th", html.literal(d.name), element("span", f" {d.part}", class_="facts"), scope="row"),
            *(element("td", html.literal(_said(value))) for value in d.values),
        )
        for d in found[:MOST_DIFFERENCES]
    )
    more = len(found) - MOST_DIFFERENCES
    rest = element("p", f"and {more} more: `firstbreak compare` lists all", class_="facts") if more > 0 else None
    return join(_table(("", *(side.name for side in sides)), rows), rest)


def _said(value: Any) -> str:
    return "not recorded" if value is None else number(value) if isinstance(value, float) else str(value)


def _against(left: Arm, right: Arm) -> Markup:
    parted, judgement = partings(left, right), judge(left, right)
    return join(
        _parted(left, right, parted)
        if parted
        else element("p", "The curves do not part: no signal that both record stays beyond its noise."),
        _judged(left, right, judgement),
    )


def _parted(left: Arm, right: Arm, parted: Sequence[Any]) -> Markup:
    first = min(parted, key=lambda p: (p.step, p.link.order))
    rows = (
        element(
            "tr",
            element("th", story.link_word(p.link), scope="row"),
            element("td", html.literal(p.metric)),
            element("td", number(p.step) + (" (first)" if p is first else "")),
            element("td", number(p.left)),
            element("td", number(p.right)),
        )
        for p in parted
    )
    single = min(len(left.members), len(right.members)) == 1
    note = (
        element("p", "With one run on a side, two seeds of one setting may part like this.", class_="facts")
        if single
        else None
    )
    return join(_table(("Link", "Parts first in", "At step", left.name, right.name), rows), note)


def _judged(left: Arm, right: Arm, judgement: Judgement | None) -> Markup:
    if judgement is None:
        return element("p", "No score that both sides record on the same task: nothing says which is better.")
    facts = (
        (f"Score of {left.name}", judgement.left),
        (f"Score of {right.name}", judgement.right),
        ("Difference", judgement.difference),
        (f"Probability that {right.name} is better", judgement.improvement),
    )
    rows = (element("div", element("dt", label), element("dd", _estimate(estimate))) for label, estimate in facts)
    return join(element("dl", *rows), element("p", element("strong", _verdict(right, judgement))))


def _estimate(estimate: Estimate) -> str:
    if estimate.interval is None:
        return f"{number(estimate.value)} (no interval from single runs)"
    low, high = estimate.interval
    return f"{number(estimate.value)} (95 % interval {number(low)} to {number(high)})"


def _verdict(right: Arm, judgement: Judgement) -> str:
    if judgement.real is None:
        return "Single runs cannot tell whether this is the setting or the seed: train at least two more seeds of each."
    if judgement.real:
        return f"The difference is real: {right.name} is {'better' if judgement.difference.value > 0 else 'worse'}."
    needed = (
        ""
        if judgement.needed is None
        else f" About {judgement.needed} runs a side would, if it is as large as it looks."
    )
    return f"{min(judgement.runs)} seeds cannot tell.{needed}"


def _curves(runs: Sequence[Run]) -> Iterable[tuple[str, list[Markup]]]:
    """The signals that at least two of the runs have, by link."""
    shared: dict[str, list[Series]] = {}
    for run in runs:
        for name, series in run.series.items():
            if len(series):
                shared.setdefault(name, []).append(series)
    for link in (*Link, None):
        title = "Outside the vocabulary" if link is None else story.link_word(link).capitalize()
        members = [s for s in shared.values() if len(s) > 1 and inspection.link_of(s[0]) is link]
        yield title, [plot(s[0], _span(s)) for s in members]


def _span(members: Sequence[Series]) -> Interval:
    return min(float(s.steps[0]) for s in members), max(float(s.steps[-1]) for s in members)


def _table(head: Sequence[str], rows: Iterable[Markup], kind: str = "plain") -> Markup:
    return element(
        "div",
        element(
            "table",
            element(
                "thead", element("tr", *(element("th", text, scope="col") if text else element("td") for text in head))
            ),
            element("tbody", *rows),
            class_=kind,
        ),
        class_="wide",
        tabindex="0",
        role="region",
        aria_label="table",
    )
