"""The list of runs, what needs attention first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from firstbreak.model import Action
from firstbreak.reports import curves, html, story
from firstbreak.reports.markup import Markup, element
from firstbreak.reports.text import count
from firstbreak.web.pages.frame import address, badge, frame
from firstbreak.web.shelf import Line
from firstbreak.words import percent

_ORDER = (Action.ROLLBACK, Action.STOP, Action.WATCH, Action.CONTINUE)
_COLUMNS = ("", "Verdict", "Run", "First break", "Most probable", "Score", "Written")


def page(root: Path, lines: Sequence[Line], live: str, surveyed: bool) -> str:
    """`live` is the address of the events; `surveyed`: the folder has been walked once."""
    heading = element("h1", "Runs in ", html.literal(root.name or str(root)))
    table = element(
        "table",
        element("thead", element("tr", *(element("th", text, scope="col") for text in _COLUMNS))),
        element("tbody", *(_row(line) for line in lines)),
        class_="runs",
    )
    tools = element(
        "div",
        element("label", "Filter", element("input", type="search", id="filter", autocomplete="off"), class_="filter"),
        element("button", "Compare the ticked runs", disabled=True, id="compare"),
        class_="row",
    )
    form = element("form", tools, table, action="/compare", method="get", id="shelf")
    nothing = (
        "No run was found here. A run is a folder or file that a trainer or logger writes."
        if surveyed
        else "Looking for runs ..."
    )
    body = form if lines else element("p", nothing)
    return frame(f"Runs in {root.name}", (), element("div", heading, _tally(lines), class_="title"), body, live=live)


def _tally(lines: Sequence[Line]) -> Markup:
    found = Counter(line.action for line in lines)
    said = [count(len(lines), "run"), *(f"{found[a]} {story.ACTION_WORD[a].lower()}" for a in _ORDER if found[a])]
    broken = sum(bool(line.problem) for line in lines)
    unread = found[None] - broken
    said += [f"{broken} unreadable"] * bool(broken) + [f"{unread} being read"] * bool(unread)
    return element("p", ", ".join(said), class_="facts", id="tally")


def _row(line: Line) -> Markup:
    tick = element(
        "input",
        type="checkbox",
        name="run",
        value=line.name,
        aria_label=f"compare {line.name}",
        disabled=line.action is None,
    )
    link = element("a", html.literal(line.name), href=address("run", line.name))
    broke = f"{line.first_break}, at {line.since}" if line.since else line.first_break
    about = line.problem or line.about
    return element(
        "tr",
        element("td", tick, class_="tick"),
        element("td", badge(line)),
        element("th", link, element("span", about, class_="about") if about else None, scope="row"),
        _cell("First break", broke or ("none seen" if line.action else "")),
        _cell("Most probable", f"{line.cause} ({percent(line.probability)})" if line.cause else ""),
        _cell("Score", _spark(line)),
        _cell("Written", element("time", data_unix=f"{line.changed:.0f}")),
        class_=line.action.value if line.action else "unread",
    )


def _cell(label: str, content: str | None) -> Markup:
    """On a narrow screen, where the table is a list of cards, the label stands beside the content."""
    return element("td", content, data_label=label) if content else element("td", class_="empty")


def _spark(line: Line) -> Markup | None:
    series = line.score
    if series is None:
        return None
    scale = curves.scale(series)
    assert scale is not None  # only finite values are kept
    x = 100 * curves.across(series.steps, (float(series.steps[0]), float(series.steps[-1])))
    y = 22 - 20 * scale(series.values)
    path = "M" + "L".join(f"{px:.1f},{py:.1f}" for px, py in zip(x, y, strict=True))
    words = f"{series.name} {story.in_words(series)}"
    return element(
        "svg",
        element("title", words),
        element("path", d=path),
        viewBox="0 0 100 24",
        role="img",
        class_="spark",
        preserveAspectRatio="none",
    )
