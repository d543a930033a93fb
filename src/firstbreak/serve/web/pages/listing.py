"""The list of runs. Runs that need attention come first."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from firstbreak.reports import content, html, svg
from firstbreak.reports.markup import Markup, element, join
from firstbreak.reports.text import count, shorter
from firstbreak.serve.web.pages.frame import address, anchor, badge, filled, frame
from firstbreak.serve.web.run_store import MOST_COMPARED, ORDER, RunSummary
from firstbreak.words import number, percent, shortened

_BOX: dict[str, Any] = {"type": "checkbox", "name": "column", "form": ""}
MOST_KEPT = 10_000  #: rows that are kept as they were written
LONGEST_NAME = 56  #: characters of a name in the list; a longer one is shortened in its middle


def page(
    root: Path,
    lines: Sequence[RunSummary],
    live: str,
    surveyed: bool,
    bare: Sequence[str] = (),
    columns: tuple[str, ...] = (),
) -> str:
    """The page. `live`: the address of the events; `surveyed`: the first search of the folder is done; `bare`: without a log.

    `columns`: the settings and metrics that are shown beside the score.
    """
    heading = element("h1", "Runs in ", html.literal(root.name or str(root)))
    settings, metrics = _offered(lines)
    table = filled(
        "run-tools",
        chips=_chips(lines),
        settings=_boxes(settings, columns),
        metrics=_boxes(metrics, columns),
        most=MOST_COMPARED,
        heads=join(
            *(element("th", element("button", c, type="button", data_sort=f"of {c}"), scope="col") for c in columns)
        ),
        rows=join(*(_row(summary, columns) for summary in lines)),
    )
    nothing = filled("no-runs") if surveyed else element("p", "Searching for runs ...")
    said = [count(len(lines), "run"), *(f"{n} {word.lower()}" for _, word, n in _found(lines))]
    tally = element("p", ", ".join(said), class_="facts", id="tally")
    form = element("form", table, action="/compare", method="get", id="runs")
    return frame(
        f"Runs in {root.name}",
        (),
        element("div", heading, tally, class_="title"),
        form if lines else element("div", nothing, class_="nothing"),
        _without_log(bare),
        live=live,
        changed=max((s.changed for s in lines), default=0.0),
    )


def _found(lines: Sequence[RunSummary]) -> list[tuple[str, str, int]]:
    """(class, word, number of runs) of each verdict that occurs, in order of attention."""
    found = Counter(_verdict(summary) for summary in lines)
    words = {
        **{mark.value: content.ACTION_WORD[mark] for mark in ORDER if mark},
        "unreadable": "Unreadable",
        "unread": "Being read",
    }
    order = ("rollback", "stop", "watch", "unreadable", "not_measured", "continue", "unread")
    return [(key, words[key], found[key]) for key in order if found[key]]


def _verdict(summary: RunSummary) -> str:
    if summary.action is None:
        return "unreadable" if summary.problem else "unread"
    return summary.action.value


def _offered(lines: Sequence[RunSummary]) -> tuple[list[str], list[str]]:
    """The settings that differ between the runs, and the metrics: what can be a column."""
    settings = {pair for summary in lines for pair in summary.settings.items()}
    differ = Counter(name for name, _ in settings)
    return sorted(n for n, values in differ.items() if values > 1), sorted({n for s in lines for n in s.metrics})


def _boxes(names: Sequence[str], columns: Sequence[str]) -> Markup:
    boxes = ((name, element("input", checked=name in columns, value=name, **_BOX)) for name in names)
    return join(*(element("label", box, html.literal(name)) for name, box in boxes))


def _chips(lines: Sequence[RunSummary]) -> Markup:
    """One button for each verdict that occurs: pressed, only its runs are shown."""
    given: dict[str, Any] = {"type": "button", "aria_pressed": "false"}
    return join(
        *(
            element("button", f"{word} {n}", id=f"chip-{key}", data_verdict=key, class_=f"chip {key}", **given)
            for key, word, n in _found(lines)
        )
    )


def _without_log(names: Sequence[str]) -> Markup | None:
    if not names:
        return None
    shown = element("ul", *(element("li", html.literal(name)) for name in names))
    title = f"{count(len(names), 'folder')} without a known log"
    return element("details", element("summary", title), shown, class_="bare")


@lru_cache(maxsize=MOST_KEPT)
def _row(summary: RunSummary, columns: tuple[str, ...]) -> Markup:
    """One row. A run that has not changed has the same one."""
    broke = ", ".join(filter(None, (summary.first_break, summary.since)))
    link, since = shorter(summary.first_break), shorter(summary.since)
    after = f"; {percent(summary.wasted)} of the run came after it" if summary.wasted > 0 else ""
    short = join(element("span", f"{link},"), " ", element("span", since)) if link and since else link
    if summary.problem:  # one line across all columns
        cells = [_cell("Problem", summary.problem, summary.problem, wide=True), *[_cell("", None)] * (5 + len(columns))]
    else:
        cells = [
            _cell("First break", short or ("none" if summary.action else ""), broke + after),
            _cell("Why", html.prose(summary.reason), summary.reason),
            _number("Last", summary.last),
            _number("Best", summary.best),
            _cell("Score", None if summary.score is None else svg.spark(summary.score)),
            _cell("Written", element("time", data_unix=f"{summary.changed:.0f}") if summary.changed > 0 else None),
            *(_chosen(summary, column) for column in columns),
        ]
    return filled(
        "run-row",
        id=anchor("run", summary.name),
        kind=summary.action.value if summary.action else "unread",
        verdict=_verdict(summary),
        name=summary.name,
        place=broke,
        since=f"{1 - summary.wasted:.4f}" if broke else "",
        changed=summary.changed,
        disabled="disabled" if summary.action is None else "",
        badge=badge(summary),
        address=address("run", summary.name),
        shown=html.literal(shortened(summary.name, LONGEST_NAME)),
        about=summary.about,
        cells=join(*cells),
    )


def _cell(label: str, content: str | None, title: str = "", value: str | None = None, wide: bool = False) -> Markup:
    """A cell of one line; `title` says it whole. On a narrow screen the table is a list of cards, with the label beside it."""
    if not content:
        return element("td", class_="empty")
    said = {"data_label": label, "title": title or None, "data_value": value, "class_": "wide-cell" if wide else None}
    return element("td", content, **said)


def _number(label: str, value: float | None) -> Markup:
    return _cell(label, None if value is None else number(value), value=repr(value))


def _chosen(summary: RunSummary, column: str) -> Markup:
    """A setting of the run, or the last value of a metric with its best beside it."""
    if column in summary.settings:
        text = summary.settings[column]
        return _cell(column, text, text, text)
    if column not in summary.metrics:
        return _cell(column, None)
    last, best = summary.metrics[column]
    beside = None if best is None else element("span", f"best {number(best)}", class_="about")
    return _cell(column, join(number(last), beside), value=repr(last))
