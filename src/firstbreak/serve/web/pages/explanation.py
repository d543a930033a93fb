"""The page of one name: what a detector, cause, metric, link, option, experiment, trainer or reader is."""

from collections.abc import Iterable

from firstbreak.engine import registry
from firstbreak.engine.checks import Check
from firstbreak.reports import html, reference
from firstbreak.reports.explanation import explain, needs
from firstbreak.reports.markup import Markup, element, join, lines
from firstbreak.serve.web.pages.frame import address, frame
from firstbreak.words import percent


def address_of(name: str) -> str | None:
    """The page of a detector or a cause."""
    return None if reference.known(name) is None else address("explain", name)


def page(name: str) -> str:
    """What `firstbreak explain` prints; for a detector or a cause with its picture. Raises `Unreadable` for an unknown name."""
    item = reference.known(name)
    if item is None:
        told = element("p", lines(explain(name).partition("\n\n")[2] or explain(name)), class_="text told")
    elif isinstance(item, Check):
        told = join(reference.entry(name, level="h2"), _asks(item))
    else:
        shows = element("h2", "What it shows, in order"), _linked(item.findings.items())
        told = join(reference.entry(name, level="h2"), *shows)
    return frame(name, (element("h1", html.literal(name)),), element("div", told, class_="explained"))


def _asks(detector: Check) -> Markup:
    """What a detector needs, its thresholds, and the causes that show it."""
    rows = [(html.literal(f"{n} = {t.default}"), t.unit, t.reason, t.source) for n, t in detector.thresholds.items()]
    causes = sorted(
        ((c.findings[detector.id], c) for c in registry.causes().values() if detector.id in c.findings),
        key=lambda found: -found[0],
    )
    return join(
        element("h2", "Needs"),
        element("p", needs(detector)),
        *((element("h2", "Thresholds"), html.table(("threshold", "unit", "why", "source"), rows)) if rows else ()),
        *((element("h2", "Causes that show it"), _linked((c.id, p) for p, c in causes)) if causes else ()),
    )


def _linked(names: Iterable[tuple[str, float]]) -> Markup:
    rows = [(element("a", element("code", name), href=address_of(name)), percent(p)) for name, p in names]
    return html.table(("name", "probability"), rows)
