"""What every page has: the head, the bar, the keys, where pages are, and a verdict in a word."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, urlencode

from firstbreak.reports import html, story
from firstbreak.reports.markup import Markup, element
from firstbreak.web.shelf import Line

_KEYS = (
    ("j, k", "next, previous run, finding or sample"),
    ("Enter", "open it"),
    ("/", "filter"),
    ("u", "up, to the list"),
    ("c", "to the curves"),
    ("+, -", "zoom all curves in, out"),
    ("[, ]", "earlier, later"),
    ("0", "whole run"),
    ("o", "zoom to the onset"),
    ("1, 2, 3", "mark the sample: keep, hack, unsure"),
    ("t", "theme: system, light, dark"),
    ("?", "this list"),
)


def address(kind: str, name: str = "", **query: str | int) -> str:
    """Where a page of a run is."""
    return f"/{kind}/{quote(name)}" + (f"?{urlencode(query)}" if query else "")


def frame(title: str, trail: Iterable[str], *body: str | None, live: str | None = None) -> str:
    """`trail` is what stands behind the name of the program in the head; `live` the address of the events."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} - firstbreak"),
        element("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        element("script", src="/static/theme.js"),
        *(
            element("link", rel="stylesheet", href=f"/static/{name}")
            for name in ("report.css", "uPlot.css", "page.css")
        ),
        element("script", src="/static/uPlot.js", defer=True),
        element("script", src="/static/page.js", type="module"),
    )
    brand = element("a", html.icon(html.MARK), "firstbreak", href="/", class_="home")
    tools = element(
        "div",
        element("button", "Theme", type="button", id="theme", title="Theme: system, light, dark (t)"),
        element("button", "Keys", type="button", id="keys", title="Keyboard (?)"),
        class_="tools",
    )
    bar = element(
        "header", brand, element("nav", *trail, class_="trail", aria_label="Where you are"), tools, class_="masthead"
    )
    skip = element("a", "Skip to the content", href="#content", class_="skip")
    main = element("main", *body, id="content", tabindex="-1", data_live=live)
    status = element("p", role="status", class_="hidden", id="said")
    page = element("body", skip, bar, main, status, _keys(), class_="firstbreak page web")
    return f"<!DOCTYPE html>\n{element('html', head, page, lang='en')}"


def _keys() -> Markup:
    rows = (element("div", element("dt", element("kbd", key)), element("dd", what)) for key, what in _KEYS)
    close = element("form", element("button", "Close"), method="dialog")
    return element(
        "dialog", element("h2", "Keyboard", id="keys-title"), element("dl", *rows), close, aria_labelledby="keys-title"
    )


def section(key: str, title: str, content: str) -> Markup:
    """A part of a page beside the report, with an address of its own."""
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, content, id=key, aria_labelledby=f"{key}-title", class_="more")


def message(title: str, text: str) -> str:
    """A page that has only this to say."""
    return frame(title, (), element("h1", title), element("p", text), element("p", element("a", "All runs", href="/")))


def badge(line: Line) -> Markup:
    """The verdict in a word."""
    if line.action is None:
        return element("span", "Unreadable" if line.problem else "Reading ...", class_="badge")
    return element("span", html.icon(html.ICON[line.action]), story.ACTION_WORD[line.action], class_="badge")
