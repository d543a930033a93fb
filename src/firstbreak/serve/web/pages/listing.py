"""The list of runs. Runs that need attention come first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from firstbreak.model import Action
from firstbreak.reports import curves, html, story, svg
from firstbreak.reports.markup import Markup, element
from firstbreak.reports.text import count
from firstbreak.serve.web.pages.frame import address, badge, frame
from firstbreak.serve.web.run_store import RunSummary
from firstbreak.words import percent

_ORDER = (Action.ROLLBACK, Action.STOP, Action.WATCH, Action.CONTINUE)
_COLUMNS = ("", "Verdict", "Run", "First break", "Most probable", "Score", "Written")


def page(root: Path, lines: Sequence[RunSummary], live: str, surveyed: bool) -> str:
    """The page. `live` is the address of the events; `surveyed`: the first search of the folder is done."""
    heading = element("h1", "Runs in ", html.literal(root.name or str(root)))
    table = element(
        "table",
        element("thead", element("tr", *(element("th", text, scope="col") for text in _COLUMNS))),
        element("tbody", *(_row(summary) for summary in lines)),
        class_="runs",
    )
    tools = element(
        "div",
        element("label", "Filter", element("input", type="search", id="filter", autocomplete="off"), class_="filter"),
        element("button", "Compare the selected runs", disabled=True, id="compare"),
        class_="row",
    )
    form = element("form", tools, table, action="/compare", method="get", id="runs")
    nothing = (
        "No run was found in this folder. A run is a folder or file that a trainer or logger writes."
        if surveyed
        else "Searching for runs ..."
    )
    body = form if lines else element("p", nothing)
    return frame(f"Runs in {root.name}", (), element("div", heading, _tally(lines), class_="title"), body, live=live)


def _tally(lines: Sequence[RunSummary]) -> Markup:
    found = Counter(summary.action for summary in lines)
    said = [count(len(lines), "run"), *(f"{found[a]} {story.ACTION_WORD[a].lower()}" for a in _ORDER if found[a])]
    broken = sum(bool(summary.problem) for summary in lines)
    unread = found[None] - broken
    said += [f"{broken} unreadable"] * bool(broken) + [f"{unread} being read"] * bool(unread)
    return element("p", ", ".join(said), class_="facts", id="tally")


def _row(summary: RunSummary) -> Markup:
    tick = element(
        "input",
        type="checkbox",
        name="run",
        value=summary.name,
        aria_label=f"compare {summary.name}",
        disabled=summary.action is None,
    )
    link = element("a", html.literal(summary.name), href=address("run", summary.name))
    broke = f"{summary.first_break}, at {summary.since}" if summary.since else summary.first_break
    about = summary.problem or summary.about
    return element(
        "tr",
        element("td", tick, class_="tick"),
        element("td", badge(summary)),
        element("th", link, element("span", about, class_="about") if about else None, scope="row"),
        _cell("First break", broke or ("none found" if summary.action else "")),
        _cell("Most probable", f"{summary.cause} ({percent(summary.probability)})" if summary.cause else ""),
        _cell("Score", _spark(summary)),
        _cell("Written", element("time", data_unix=f"{summary.changed:.0f}")),
        class_=summary.action.value if summary.action else "unread",
    )


def _cell(label: str, content: str | None) -> Markup:
    """A cell. On a narrow screen the table is a list of cards, and the label is shown beside the content."""
    return element("td", content, data_label=label) if content else element("td", class_="empty")


def _spark(summary: RunSummary) -> Markup | None:
    series = summary.score
    if series is None:
        return None
    scale = curves.scale(series)
    assert scale is not None  # only finite values are kept
    path = svg.path(series, scale, (float(series.steps[0]), float(series.steps[-1])), 100, 20)
    words = f"{series.name} {story.in_words(series)}"
    return element(
        "svg",
        element("title", words),
        element("path", d=path),
        viewBox="0 -2 100 24",
        role="img",
        class_="spark",
        preserveAspectRatio="none",
    )
