"""Placeholders for curves. The script of the page draws a curve when it comes into view."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from firstbreak.model import Interval, Series
from firstbreak.reports import curves, html, inspection, story
from firstbreak.reports.markup import Markup, element

_ZOOMS = (
    ("in", "+", "Zoom in"),
    ("out", "−", "Zoom out"),
    ("left", "←", "Earlier"),
    ("right", "→", "Later"),
    ("onset", "Onset", "Zoom to the onset"),
    ("all", "Whole run", "Whole run"),
)


_SMOOTHING = (("", "none"), ("0.6", "a little"), ("0.9", "more"), ("0.97", "much"))


def plots(
    names: Sequence[str],
    groups: Iterable[tuple[str, Sequence[Markup]]],
    onset: float | None = None,
    best: float | None = None,
) -> Markup | None:
    """The curves of these runs in groups, with one zoom for all. None without curves."""
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
        element(
            "label",
            "Smoothing",
            element("select", *(element("option", word, value=weight) for weight, word in _SMOOTHING), id="smooth"),
        ),
        element("label", element("input", type="checkbox", id="log"), "Log axis"),
        element("output", id="range"),
        *zooms,
        class_="row",
        role="toolbar",
        aria_label="Zoom of all curves",
    )
    hint = "Drag across a curve to zoom, double click for the whole run. All curves on the same axis zoom together."
    runs = (
        element(
            "button",
            element("span", class_=f"swatch run-{i}", aria_hidden="true"),
            html.literal(name),
            type="button",
            data_run=i,
            aria_pressed="true",
        )
        for i, name in enumerate(names)
    )
    legend = (
        element("div", *runs, class_="legend", role="group", aria_label="Runs that are shown")
        if len(names) > 1
        else None
    )
    if onset is not None:
        hint += " Red line: the onset of a finding, with its interval shaded. Dashed green line: the best checkpoint."
    sections = (
        element("section", element("h3", f"{title} ({len(members)})"), element("div", *members, class_="plots"))
        for title, members in shown
    )
    return element(
        "div",
        tools,
        legend,
        element("p", hint, class_="facts"),
        *sections,
        id="plots",
        data_runs=_exact(list(names)),
        data_onset=_number(onset),
        data_best=_number(best),
    )


def plot(series: Series, domain: Interval, **marks: float | None) -> Markup:
    """The placeholder of one curve, with marks to draw: `onset`, `low` and `high` of its interval, `level`."""
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
    """JSON in pure ASCII, so that the script gets names exactly as they are in the log."""
    return json.dumps(value)


def _number(value: float | None) -> str | None:
    return None if value is None else repr(float(value))
