"""The parts of every page: the head, the bar, the list of keys, addresses of pages, and the badge of a verdict."""

from collections.abc import Iterable
from urllib.parse import quote, urlencode

from firstbreak.reports import content, html
from firstbreak.reports.markup import Markup, element
from firstbreak.serve.web.run_store import RunSummary

_KEYS = (
    ("j, k", "next or previous run, finding or sample"),
    ("Enter", "open"),
    ("/", "filter"),
    ("u", "back to the list"),
    ("c", "go to the curves"),
    ("+, -", "zoom all curves in or out"),
    ("[, ]", "move to earlier or later steps"),
    ("0", "show the whole run"),
    ("o", "zoom to the onset"),
    ("1, 2, 3", "mark the sample: keep, hack, unsure"),
    ("t", "theme: system, light, dark"),
    ("?", "this list"),
)


def address(kind: str, name: str = "", **query: str | int) -> str:
    """The address of a page of a run."""
    return f"/{kind}/{quote(name)}" + (f"?{urlencode(query)}" if query else "")


def frame(title: str, trail: Iterable[str], *body: str | None, live: str | None = None, changed: float = 0.0) -> str:
    """A page. `trail` follows the name of the program in the header; `live` is the address of the events.

    `changed`: the time of the latest write to what is shown, in unix seconds.
    """
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} - firstbreak"),
        element("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        element("link", rel="stylesheet", href="/static/style.css"),
        element("script", src="/static/first.js"),
        *(
            element("link", rel="modulepreload", href=f"/static/{name}")
            for name in ("page.js", "plots.js", "address.js")
        ),
    )
    brand = element("a", html.icon(html.MARK), "firstbreak", href="/", class_="home")
    tools = element(
        "div",
        element("span", id="live") if live else None,
        element("button", "Theme", type="button", id="theme", title="Theme: system, light, dark (t)"),
        element("button", "Keys", type="button", id="keys", title="Keyboard (?)"),
        class_="tools",
    )
    bar = element(
        "header", brand, element("nav", *trail, class_="trail", aria_label="Breadcrumb"), tools, class_="masthead"
    )
    skip = element("a", "Skip to the content", href="#content", class_="skip")
    main = element("main", *body, id="content", tabindex="-1", data_live=live, data_changed=f"{changed:.0f}")
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
    """A section of a page outside the report, with its own anchor."""
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, content, id=key, aria_labelledby=f"{key}-title", class_="more")


def problem(text: str) -> Markup:
    """One line about what cannot be shown."""
    return element("p", text, class_="problem")


def message(title: str, text: str) -> str:
    """A page with one message."""
    return frame(title, (), element("h1", title), element("p", text), element("p", element("a", "All runs", href="/")))


def badge(summary: RunSummary) -> Markup:
    """The verdict in one word."""
    if summary.action is None:
        return element("span", "Unreadable" if summary.problem else "Reading ...", class_="badge")
    return element("span", html.icon(html.ICON[summary.action]), content.ACTION_WORD[summary.action], class_="badge")
