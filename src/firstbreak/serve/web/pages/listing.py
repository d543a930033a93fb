"""The list of runs. Runs that need attention come first."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from firstbreak.reports import content, curves, html, svg
from firstbreak.reports.markup import Markup, element, join, table
from firstbreak.reports.text import count
from firstbreak.serve.web.pages.frame import address, badge, frame
from firstbreak.serve.web.run_store import MOST_COMPARED, ORDER, RunSummary
from firstbreak.words import percent, shortened

_COLUMNS = (  # name, and what its click sorts by
    ("", ""),
    ("Verdict", "urgency"),
    ("Run", "name"),
    ("First break", "place"),
    ("Why", ""),
    ("Score", ""),
    ("Written", "changed"),
)
MOST_KEPT = 10_000  #: rows that are kept as they were written
ORDERED = "The worst verdict first; of one verdict the surest break, then the longest training after it."
LONGEST_NAME = 56  #: characters of a name in the list; a longer one is shortened in its middle
EMPTY = (
    "Put the folder or file that your trainer or logger writes here, one folder for each run: TensorBoard events, "
    "`trainer_state.json`, `progress.csv`, `metrics.jsonl`, a wandb folder, or the console output as `train.log`. The run "
    "appears here as soon as it is written. `firstbreak explain readers` lists the formats."
)


def page(root: Path, lines: Sequence[RunSummary], live: str, surveyed: bool, bare: Sequence[str] = ()) -> str:
    """The page. `live`: the address of the events; `surveyed`: the first search of the folder is done; `bare`: without a log."""
    heading = element("h1", "Runs in ", html.literal(root.name or str(root)))
    tools = element(
        "div",
        element("label", "Filter", element("input", type="search", id="filter", autocomplete="off"), class_="filter"),
        element("output", id="shown", class_="facts"),
        element("button", "Compare the selected runs", disabled=True, id="compare", data_most=MOST_COMPARED),
        class_="row",
    )
    none = element(
        "p",
        "No run matches. ",
        element("button", "Show all runs", type="button", id="unfilter"),
        id="none",
        hidden=True,
    )
    runs = table((_head(text, by) for text, by in _COLUMNS), map(_row, lines), "runs")
    form = element("form", _chips(lines), tools, runs, none, action="/compare", method="get", id="runs")
    nothing = (
        join(element("p", element("strong", "No run was found in this folder.")), element("p", html.prose(EMPTY)))
        if surveyed
        else element("p", "Searching for runs ...")
    )
    body = join(form if lines else element("div", nothing, class_="nothing"), _without_log(bare))
    return frame(
        f"Runs in {root.name}",
        (),
        element("div", heading, _tally(lines), class_="title"),
        body,
        live=live,
        changed=max((s.changed for s in lines), default=0.0),
    )


def _head(text: str, by: str) -> Markup:
    if not text:
        return element("td")
    if by == "place":
        link, time = (
            element("button", word, type="button", data_sort=key) for word, key in (("link", by), ("time", "since"))
        )
        return element("th", f"{text}: ", link, " · ", time, scope="col")
    return element("th", element("button", text, type="button", data_sort=by) if by else text, scope="col")


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


def _tally(lines: Sequence[RunSummary]) -> Markup:
    said = [count(len(lines), "run"), *(f"{n} {word.lower()}" for _, word, n in _found(lines))]
    return element("p", ", ".join(said), f". {ORDERED}" if len(lines) > 1 else None, class_="facts", id="tally")


def _chips(lines: Sequence[RunSummary]) -> Markup:
    """One button for each verdict that occurs: pressed, only its runs are shown."""
    chips = (
        element("button", f"{word} {n}", type="button", data_verdict=key, aria_pressed="false", class_=f"chip {key}")
        for key, word, n in _found(lines)
    )
    return element("div", *chips, class_="chips", role="group", aria_label="Show only these verdicts", id="chips")


def _without_log(names: Sequence[str]) -> Markup | None:
    if not names:
        return None
    shown = element("ul", *(element("li", html.literal(name)) for name in names))
    return element(
        "details", element("summary", f"{count(len(names), 'folder')} without a known log"), shown, class_="bare"
    )


@lru_cache(maxsize=MOST_KEPT)
def _row(summary: RunSummary) -> Markup:
    """One row. A run that has not changed has the same one."""
    tick = element(
        "input",
        type="checkbox",
        name="run",
        value=summary.name,
        aria_label=f"compare {summary.name}",
        disabled=summary.action is None,
    )
    link = element(
        "a", html.literal(shortened(summary.name, LONGEST_NAME)), href=address("run", summary.name), title=summary.name
    )
    broke = ", ".join(filter(None, (summary.first_break, summary.since)))
    about = summary.problem or summary.about
    written = element("time", data_unix=f"{summary.changed:.0f}") if summary.changed > 0 else None
    return element(
        "tr",
        element("td", tick, class_="tick"),
        element("td", badge(summary)),
        element("th", link, element("span", about, class_="about") if about else None, scope="row"),
        _cell("First break", join(broke, _after(summary)) if broke else "none found" if summary.action else ""),
        _cell("Why", html.prose(summary.reason)),
        _cell("Score", _spark(summary)),
        _cell("Written", written),
        class_=summary.action.value if summary.action else "unread",
        data_verdict=_verdict(summary),
        data_name=summary.name,
        data_place=broke,
        data_since=f"{1 - summary.wasted:.4f}" if broke else None,
        data_changed=f"{summary.changed:.0f}",
    )


def _after(summary: RunSummary) -> Markup | None:
    after = f"{percent(summary.wasted)} of the run came after it"
    return element("span", after, class_="about") if summary.wasted > 0 else None


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
    words = f"{series.name} {content.in_words(series)}"
    return element(
        "svg",
        element("title", words),
        element("path", d=path),
        viewBox="0 -2 100 24",
        role="img",
        class_="spark",
        preserveAspectRatio="none",
    )
