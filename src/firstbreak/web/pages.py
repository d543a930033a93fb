"""The pages as HTML. Everything passes through `element`, which escapes; what the report already tells is told by the report."""

from __future__ import annotations

import json as plain_json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from firstbreak.audit.blind import split
from firstbreak.audit.marks import MARKS, key_of
from firstbreak.experiments.plan import propose
from firstbreak.experiments.settings import Settings
from firstbreak.model import Action, Diagnosis, Interval, Link, Sample, Series
from firstbreak.reports import curves, html, inspection, story
from firstbreak.reports.markup import Markup, element, join
from firstbreak.reports.text import count
from firstbreak.web.shelf import Line, Placed
from firstbreak.words import number, percent

MOST_EXPERIMENTS = 6
LEAST_BITS = 0.05  #: an experiment that is expected to tell less is not proposed
_ORDER = (Action.ROLLBACK, Action.STOP, Action.WATCH, Action.CONTINUE)
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


# --- what every page has ----------------------------------------------------------------------------------------------


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


def message(title: str, text: str) -> str:
    """A page that has only this to say."""
    return frame(title, (), element("h1", title), element("p", text), element("p", element("a", "All runs", href="/")))


# --- the list ---------------------------------------------------------------------------------------------------------


def shelf(root: Path, lines: Sequence[Line], live: str, surveyed: bool) -> str:
    """Every run, what needs attention first."""
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


_COLUMNS = ("", "Verdict", "Run", "First break", "Most probable", "Score", "Written")


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


def badge(line: Line) -> Markup:
    """The verdict in a word."""
    if line.action is None:
        return element("span", "Unreadable" if line.problem else "Reading ...", class_="badge")
    return element("span", html.icon(html.ICON[line.action]), story.ACTION_WORD[line.action], class_="badge")


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


# --- one run ----------------------------------------------------------------------------------------------------------


def run(
    line: Line,
    dx: Diagnosis,
    live: str,
    to_read: Sequence[Placed],
    marks: Mapping[str, str],
    looks: Sequence[Mapping[str, Any]],
) -> str:
    """The report, and beside it what a report on paper cannot show."""
    parts = [
        ("curves", "Curves", _curves(line.name, dx)),
        ("samples", "Samples", _samples(line.name, to_read, marks)),
        ("experiments", "Experiments", _experiments(dx)),
        ("evaluations", "Evaluations", _evaluations(looks)),
        ("checkpoints", "Checkpoints", _checkpoints(dx)),
    ]
    sections = [
        element(
            "section",
            element("h2", title, id=f"{key}-title"),
            content,
            id=key,
            aria_labelledby=f"{key}-title",
            class_="more",
        )
        for key, title, content in parts
        if content
    ]
    told = [s for s in story.sections(dx) if s in _LISTED]
    contents = element(
        "nav",
        *(element("a", s.heading, href=f"#run-{s.value}") for s in told),
        *(element("a", title, href=f"#{key}") for key, title, content in parts if content),
        class_="contents",
        aria_label="Parts of this page",
    )
    trail = (element("h1", html.literal(line.name)), _exports(line.name))
    return frame(
        f"{story.ACTION_WORD[dx.verdict.action]}: {line.name}",
        trail,
        contents,
        html.article(dx, "run"),
        *sections,
        live=live,
    )


_LISTED = frozenset(
    {story.Section.FINDINGS, story.Section.CAUSES, story.Section.REMEDY, story.Section.BLIND, story.Section.READ}
)


def _exports(name: str) -> Markup:
    return element(
        "span",
        element(
            "a",
            "HTML",
            href=address("report", name),
            download=True,
            title="The report as one file that needs nothing else",
        ),
        element("a", "JSON", href=address("diagnosis", name), download=True, title="The diagnosis for programs"),
        class_="exports",
    )


def unreadable(line: Line, live: str) -> str:
    """A run that cannot be read (yet): why, and it is tried again while the page is open."""
    text = line.problem or "This run is being read."
    return frame(line.name, (element("h1", html.literal(line.name)),), element("p", text, class_="problem"), live=live)


def _curves(name: str, dx: Diagnosis) -> Markup | None:
    """A place for every curve, drawn when it comes into view. Those that findings rest on come first."""
    groups = [(title, [_plot(dx, series) for series in members]) for title, members in _grouped(dx)]
    first, best = dx.first_break, dx.best_checkpoint
    return plots([name], groups, onset=first.step if first else None, best=best.step if best else None)


def plots(
    names: Sequence[str],
    groups: Iterable[tuple[str, Sequence[Markup]]],
    onset: float | None = None,
    best: float | None = None,
) -> Markup | None:
    """The curves of these runs in groups, with one zoom for all. None where there is no curve."""
    shown = [(title, members) for title, members in groups if members]
    if not shown:
        return None
    zooms = (
        element("button", text, type="button", data_zoom=key, title=title, aria_label=title)
        for key, text, title in _ZOOMS
        if key != "onset" or onset is not None
    )
    tools = element(
        "div",
        element("label", "Filter", element("input", type="search", id="filter", autocomplete="off"), class_="filter"),
        element("output", id="range"),
        *zooms,
        class_="row",
        role="toolbar",
        aria_label="Zoom of all curves",
    )
    hint = "Drag across a curve to zoom; all curves on the same axis follow."
    if onset is not None:
        hint += " Red: the onset of a finding, in the shaded interval. Dashed green: the best checkpoint."
    sections = (
        element("section", element("h3", f"{title} ({len(members)})"), element("div", *members, class_="plots"))
        for title, members in shown
    )
    return element(
        "div",
        tools,
        element("p", hint, class_="facts"),
        *sections,
        id="plots",
        data_runs=_exact(list(names)),
        data_onset=_number(onset),
        data_best=_number(best),
    )


_ZOOMS = (
    ("in", "+", "Zoom in"),
    ("out", "−", "Zoom out"),
    ("left", "←", "Earlier"),
    ("right", "→", "Later"),
    ("onset", "Onset", "Zoom to the onset"),
    ("all", "Whole run", "Whole run"),
)


def _grouped(dx: Diagnosis) -> Iterator[tuple[str, list[Series]]]:
    shown = dict.fromkeys(o.finding.metric for o in dx.findings if o.finding is not None and o.finding.metric)
    first = [dx.run.series[name] for name in shown if name in dx.run.series]
    yield "What the findings rest on", first
    rest = [series for series in dx.run.series.values() if series not in first and len(series)]
    for link in Link:
        yield story.link_word(link).capitalize(), [s for s in rest if inspection.link_of(s) is link]
    yield "Outside the vocabulary", [s for s in rest if inspection.link_of(s) is None]
    yield "Not understood", [series for series in dx.run.unknown.values() if len(series)]


def _plot(dx: Diagnosis, series: Series) -> Markup:
    finding = next((o.finding for o in dx.findings if o.finding is not None and o.finding.metric == series.name), None)
    low, high = (None, None) if finding is None or finding.interval is None else finding.interval
    level = next((e.level for e in finding.evidence if e.level is not None), None) if finding is not None else None
    onset = finding.onset if finding else None
    return plot(series, story.domain(dx, series), onset=onset, low=low, high=high, level=level)


def plot(series: Series, domain: Interval, **marks: float | None) -> Markup:
    """The place of one curve, and what is drawn on it: `onset`, `low` and `high` of its interval, `level`."""
    scale = curves.scale(series)
    raw = f"logged as {series.raw}" if series.raw not in ("", series.name) else ""
    return element(
        "figure",
        element("figcaption", html.literal(series.name), element("output"), element("span", raw)),
        element("div", class_="canvas", role="img", aria_label=f"{series.name}: {story.in_words(series)}"),
        class_="plot",
        title=inspection.meaning(series) or None,
        data_metric=_exact(series.name),
        data_axis=series.axis,
        data_unit=story.axis_word(series.axis),
        data_from=_number(domain[0]),
        data_to=_number(domain[1]),
        data_log=scale is not None and scale.log,
        **{f"data_{name}": _number(value) for name, value in marks.items()},
    )


def _exact(value: Any) -> str:
    """JSON in pure ASCII: names reach the script as they stand in the log, with nothing spelled out for the eye."""
    return plain_json.dumps(value)


def _number(value: float | None) -> str | None:
    return None if value is None else repr(float(value))


def _checkpoints(dx: Diagnosis) -> Markup | None:
    if not dx.run.checkpoints:
        return None
    best = dx.best_checkpoint
    rows = (
        element(
            "tr",
            element("td", number(c.step), class_="number"),
            element("td", html.literal(c.path)),
            element("td", "best" if best and best.path == c.path else ""),
        )
        for c in dx.run.checkpoints
    )
    return element(
        "table",
        element("thead", element("tr", *(element("th", t, scope="col") for t in ("Step", "Saved as", "")))),
        element("tbody", *rows),
    )


def _experiments(dx: Diagnosis) -> Markup | None:
    """What would separate the causes, per minute of compute. Nothing is started from here."""
    if not dx.findings:
        return None
    proposals = propose(dx.run, dx.causes, Settings(command=()))
    rows = [
        element(
            "tr",
            element("th", html.literal(p.design.id), element("span", p.design.title, class_="about"), scope="row"),
            element("td", f"{p.bits:.2f} bits"),
            element("td", percent(p.share) + ("" if p.minutes is None else f", {story.duration(p.minutes / 60)}")),
        )
        for p in proposals
        if p.bits >= LEAST_BITS and not p.cannot
    ][:MOST_EXPERIMENTS]
    if not rows:
        return None
    head = element("tr", *(element("th", text, scope="col") for text in ("Experiment", "Tells", "Costs, of this run")))
    hint = element(
        "p",
        "Run one with ",
        element("code", "firstbreak experiment run NAME RUN"),
        "; the diagnosis then counts its answer.",
        class_="facts",
    )
    return join(element("table", element("thead", head), element("tbody", *rows), class_="plain"), hint)


def _evaluations(looks: Sequence[Mapping[str, Any]]) -> Markup | None:
    """The rows of the ledger that are about this run."""
    if not looks:
        return None
    rows = (
        element(
            "tr",
            element(
                "th",
                html.literal(str(look.get("split", ""))),
                element("span", str(look.get("at", ""))[:16], class_="about"),
                scope="row",
            ),
            element("td", str(look.get("use", ""))),
            element("td", ", ".join(f"{name} {number(value)}" for name, value in look.get("scores", {}).items())),
            element("td", number(look["step"]) if "step" in look else ""),
            element("td", str(look.get("fed", ""))),
        )
        for look in looks
    )
    head = element(
        "tr", *(element("th", t, scope="col") for t in ("Split", "Looked at to", "Scores", "At step", "Decided"))
    )
    return element("table", element("thead", head), element("tbody", *rows), class_="plain")


# --- samples ----------------------------------------------------------------------------------------------------------


def _samples(name: str, to_read: Sequence[Placed], marks: Mapping[str, str]) -> Markup | None:
    if not to_read:
        return None
    hint = element("p", "What the latest step is rewarded for; the best-rewarded first.", class_="facts")
    more = element("p", element("a", "Read all samples", href=address("samples", name)))
    return join(hint, *(sample(name, s, i, marks) for i, s in to_read), more)


def samples(
    line: Line,
    shown: Sequence[Placed],
    page: int,
    more: bool,
    asked: Mapping[str, str],
    marks: Mapping[str, str],
) -> str:
    """One page of samples. `asked`: what they were asked by, `q` and `step`, where it is anything."""
    search = element(
        "form",
        element(
            "label", "Find in the text", element("input", type="search", name="q", value=asked.get("q"), id="filter")
        ),
        element(
            "label",
            "From step",
            element("input", type="number", name="step", value=asked.get("step"), min=0, step="any"),
        ),
        element("button", "Find"),
        class_="row find",
        method="get",
    )
    pages = element(
        "p",
        element("a", "Earlier", href=address("samples", line.name, page=page - 1, **asked), rel="prev")
        if page
        else None,
        element("a", "Later", href=address("samples", line.name, page=page + 1, **asked), rel="next") if more else None,
        class_="row",
    )
    trail = (element("a", html.literal(line.name), href=address("run", line.name)), element("h1", "Samples"))
    content = [sample(line.name, s, i, marks) for i, s in shown] or [
        element("p", "No sample fits." if asked else "There are no samples here.")
    ]
    return frame(f"Samples: {line.name}", trail, search, *content, pages)


def sample(name: str, shown: Sample, place: int, marks: Mapping[str, str]) -> Markup:
    """One sample as it was dumped, line by line, and what somebody has said of it."""
    said = marks.get(key_of(split(shown)[0]), "")
    facts = [
        *([f"step {number(shown.step)}"] if shown.step is not None else []),
        *([f"reward {number(shown.reward)}"] if shown.reward is not None else []),
        *([f"advantage {number(shown.advantage)}"] if shown.advantage is not None else []),
        *(f"{name} {number(value)}" for name, value in shown.rewards.items()),
    ]
    buttons = element(
        "div",
        *(
            element("button", word.capitalize(), type="button", data_mark=word, aria_pressed=str(word == said).lower())
            for word in MARKS
        ),
        class_="marks",
        role="group",
        aria_label=f"mark sample {place + 1}",
        data_address=address("marks", name),
        data_place=place,
    )
    head = element(
        "header", element("h3", f"Sample {place + 1}"), element("p", ", ".join(facts), class_="facts"), buttons
    )
    prompt = element("div", element("h4", "Prompt"), _lines(shown.prompt), class_="prompt") if shown.prompt else None
    completion = element("div", element("h4", "Completion"), _lines(shown.completion), class_="completion")
    text = element("div", prompt, completion, class_="texts")
    return element("section", head, text, class_="sample", id=f"sample-{place + 1}")


def _lines(text: str) -> Markup:
    """The text with its own line breaks; every other character that would act is spelled out."""
    first, *rest = text.split("\n")
    return element("p", first, *(part for line in rest for part in (element("br"), line)), dir="auto", class_="text")
