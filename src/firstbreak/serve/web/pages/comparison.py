"""The comparison of runs: what differs, where the curves first differ, whether the difference is real, and the curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from firstbreak.compare.arms import Arm, arms, differences
from firstbreak.compare.first_difference import FirstDifference, earliest, first_differences
from firstbreak.compare.judge import Judgement, judge
from firstbreak.compare.statistics import Estimate
from firstbreak.model import Interval, Link, Run, Series
from firstbreak.reports import html, inspection, story
from firstbreak.reports.markup import Markup, element, join
from firstbreak.serve.web.pages.frame import address, badge, frame, section
from firstbreak.serve.web.pages.plots import plot, plots
from firstbreak.serve.web.run_store import RunSummary
from firstbreak.words import number

MOST_DIFFERENCES = 60  #: packages alone can be hundreds


def page(compared: Sequence[tuple[RunSummary, Run]]) -> str:
    """The page. Every run is compared with the first one."""
    names = [summary.name for summary, _ in compared]
    sides = arms([(summary.name, [run]) for summary, run in compared])
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


def _runs(compared: Sequence[tuple[RunSummary, Run]]) -> Markup:
    rows = (
        element(
            "tr",
            element("td", element("span", class_=f"swatch run-{i}", aria_hidden="true")),
            element("th", element("a", html.literal(summary.name), href=address("run", summary.name)), scope="row"),
            element("td", badge(summary), class_=summary.action.value if summary.action else None),
            element(
                "td",
                ", ".join(filter(None, (summary.first_break, summary.since))) or "none found",
            ),
            element("td", html.prose(summary.reason)),
        )
        for i, (summary, _) in enumerate(compared)
    )
    return _table(("", "Run", "Verdict", "First break", "Why"), rows, "runs compared")


def _differences(sides: Sequence[Arm]) -> Markup:
    if len(sides) == 1:
        return element("p", "Only seed and task differ: these are runs of one setting.")
    found = sorted(differences(sides), key=lambda d: None in d.values)  # settings that all sides record come first
    if not found:
        return element("p", "No recorded setting differs: configuration, code and data are the same.")
    rows = (
        element(
            "tr",
            element("th", html.literal(d.name), element("span", f" {d.part}", class_="facts"), scope="row"),
            *(element("td", html.literal(_said(value))) for value in d.values),
        )
        for d in found[:MOST_DIFFERENCES]
    )
    more = len(found) - MOST_DIFFERENCES
    rest = element("p", f"and {more} more; `firstbreak compare` lists all", class_="facts") if more > 0 else None
    return join(_table(("", *(side.name for side in sides)), rows), rest)


def _said(value: Any) -> str:
    return "not recorded" if value is None else number(value) if isinstance(value, float) else str(value)


def _against(left: Arm, right: Arm) -> Markup:
    found, judgement = first_differences(left, right), judge(left, right)
    return join(
        _first_differences(left, right, found)
        if found
        else element("p", "No curve differs: no signal that both sides record stays outside its noise."),
        _judged(left, right, judgement),
    )


def _first_differences(left: Arm, right: Arm, found: Sequence[FirstDifference]) -> Markup:
    first = earliest(found)
    rows = (
        element(
            "tr",
            element("th", story.link_word(p.link), scope="row"),
            element("td", html.literal(p.metric)),
            element("td", number(p.step) + (" (first)" if p is first else "")),
            element("td", number(p.left)),
            element("td", number(p.right)),
        )
        for p in found
    )
    single = min(len(left.members), len(right.members)) == 1
    note = (
        element("p", "With one run on a side, two seeds of the same setting can differ like this.", class_="facts")
        if single
        else None
    )
    return join(_table(("Link", "First differs in", "At step", left.name, right.name), rows), note)


def _judged(left: Arm, right: Arm, judgement: Judgement | None) -> Markup:
    if judgement is None:
        return element("p", "The sides record no common score on the same task, so it is unknown which side is better.")
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
        return (
            "Single runs cannot show whether the setting or the seed causes the difference. "
            "Train at least two more seeds of each."
        )
    if judgement.real:
        return f"The difference is real: {right.name} is {'better' if judgement.difference.value > 0 else 'worse'}."
    needed = (
        ""
        if judgement.needed is None
        else f" If the difference is as large as observed, about {judgement.needed} runs on each side would show it."
    )
    return f"{min(judgement.runs)} seeds are not enough to decide.{needed}"


def _curves(runs: Sequence[Run]) -> Iterable[tuple[str, list[Markup]]]:
    """The signals of at least two runs, by link."""
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
