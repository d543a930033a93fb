"""The parts of every page: the head, the bar, the list of keys, addresses of pages, and the badge of a verdict."""

from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from importlib import resources
from urllib.parse import quote, urlencode

from firstbreak.reports import content, html, markup
from firstbreak.reports.markup import Markup, element, join
from firstbreak.serve.web.run_store import RunSummary


def address(kind: str, name: str = "", **query: str | int) -> str:
    """The address of a page of a run."""
    return f"/{kind}/{quote(name)}" + (f"?{urlencode(query)}" if query else "")


def anchor(kind: str, *names: str) -> str:
    """The id of what belongs to these names, by which a part of a page is known again when it changes."""
    return f"{kind}-{sha256(repr(names).encode('utf-8', 'backslashreplace')).hexdigest()[:16]}"


def filled(name: str, /, **parts: str | float) -> Markup:
    """A piece of HTML of `static` with these parts in it."""
    return markup.filled(_piece(name), **parts)


@cache
def _piece(name: str) -> str:
    return resources.files("firstbreak.serve.web").joinpath("static", f"{name}.html").read_text("utf-8")


def frame(title: str, trail: Iterable[str], *body: str | None, live: str = "", changed: float = 0.0) -> str:
    """A page. `trail` follows the name of the program in the header; `live` is the address of the events.

    `changed`: the time of the latest write to what is shown, in unix seconds.
    """
    parts = {"title": title, "trail": join(*trail), "body": join(*body)}
    return filled("frame", **parts, mark=html.icon(html.MARK), live=live, changed=changed)


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
