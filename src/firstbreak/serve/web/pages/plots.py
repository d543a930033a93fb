"""Placeholders for curves. The script of the page draws a curve when it comes into view."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from firstbreak.model import Interval, Series
from firstbreak.reports import content, curves, html, inspection
from firstbreak.reports.markup import Markup, element
from firstbreak.words import axis_word, shortened

_ZOOMS = (
    ("in", "+", "Zoom in"),
    ("out", "−", "Zoom out"),
    ("left", "←", "Earlier"),
    ("right", "→", "Later"),
    ("onset", "Onset", "Zoom to the onset and its interval"),
    ("all", "Whole run", "Whole run"),
)


LONGEST_NAME = 44  #: characters of a name in the legend
_HINT = "Drag across a curve to zoom, double click for the whole run. All curves on the same axis zoom together."
_BY_HAND = "The first and the last step that all curves show"
_SMOOTHING = (("", "none"), ("0.6", "a little"), ("0.9", "more"), ("0.97", "much"))


def plots(
    names: Sequence[str],
    groups: Iterable[tuple[str, Sequence[Markup]]],
    onset: float | None = None,
    interval: Interval | None = None,
    axis: str | None = None,
    shown_by: str | None = None,
    best: float | None = None,
    *,
    first: Sequence[Markup] = (),
    groups_of: Sequence[int] | None = None,
    legend: Sequence[str] = (),
    axes: Sequence[tuple[str, str, bool]] = (),
    between: Sequence[Markup] = (),
) -> Markup | None:
    """The curves of these runs in groups, with one zoom for all. None without curves.

    `onset` and `interval`: of the first break, in steps of `axis`, which the curve `shown_by` shows. `first`: curves above all
    others, before what stands `between`. `groups_of`: the side of each run, with a name in `legend`. `axes`: what curves can be
    drawn over, as (key, name, whether the runs record it).
    """
    shown = [(title, members) for title, members in groups if members]
    if not shown and not first:
        return None
    if onset is not None:
        hint = (
            f"{_HINT} Red line: the onset of a finding, with its interval shaded, or the interval of the first break. "
            "Dashed green line: the best checkpoint."
        )
    else:
        hint = _HINT
    several = groups_of is not None and len(set(groups_of)) < len(groups_of)
    if several:
        hint += " Line and band: mean, lowest and highest of the runs of a side."
    sections = (
        element(
            "section",
            element("h3", f"{title} ({len(members)})"),
            element("div", *members, class_="plots"),
            id="curves" if between and i == 0 else None,
        )
        for i, (title, members) in enumerate(shown)
    )
    return element(
        "div",
        _tools(onset is not None, axes, several),
        _legend(legend) if legend else None,
        element("p", hint, class_="facts"),
        element("section", element("div", *first, class_="plots tall")) if first else None,
        *between,
        *sections,
        id="plots",
        data_runs=_exact(list(names)),
        data_groups=None if groups_of is None else _exact(list(groups_of)),
        data_onset=_number(onset),
        data_low=_number(interval[0]) if interval else None,
        data_high=_number(interval[1]) if interval else None,
        data_axis=axis,
        data_shown=shown_by,
        data_best=_number(best),
    )


def _tools(onset: bool, axes: Sequence[tuple[str, str, bool]], several: bool) -> Markup:
    zooms = (
        element("button", text, type="button", data_zoom=key, title=title, aria_label=title)
        for key, text, title in _ZOOMS
        if key != "onset" or onset
    )
    options = (
        element("option", word if recorded else f"{word}: not recorded by all", value=key, disabled=not recorded)
        for key, word, recorded in axes
    )
    return element(
        "div",
        element("label", "Filter", element("input", type="search", id="filter", autocomplete="off"), class_="filter"),
        element("label", "Over", element("select", *options, id="x")) if axes else None,
        element(
            "label",
            "Smoothing",
            element("select", *(element("option", word, value=weight) for weight, word in _SMOOTHING), id="smooth"),
        ),
        element("label", element("input", type="checkbox", id="log"), "Log axis"),
        element("label", element("input", type="checkbox", id="single"), "Each run") if several else None,
        element("output", id="range", class_="hidden"),
        *zooms,
        element("label", "From", element("input", type="number", step="any", id="from", title=_BY_HAND)),
        element("label", "to", element("input", type="number", step="any", id="to", title=_BY_HAND)),
        class_="row",
        role="toolbar",
        aria_label="Zoom of all curves",
    )


def _legend(names: Sequence[str]) -> Markup:
    buttons = (
        element(
            "button",
            element("span", class_=f"swatch run-{i}", aria_hidden="true"),
            html.literal(shortened(name, LONGEST_NAME)),
            type="button",
            title=name,
            data_run=i,
            aria_pressed="true",
        )
        for i, name in enumerate(names)
    )
    return element("div", *buttons, class_="legend", role="group", aria_label="Runs that are shown")


def plot(series: Series, domain: Interval, *, tall: bool = False, **marks: float | None) -> Markup:
    """The placeholder of one curve, with marks to draw: `onset`, `low` and `high` of its interval, `level`."""
    scale = curves.scale(series)
    raw = f"logged as {series.raw}" if series.raw not in ("", series.name) else ""
    enlarge = None if tall else element("button", "Enlarge", type="button", class_="enlarge", aria_pressed="false")
    return element(
        "figure",
        element("figcaption", html.literal(series.name), element("output"), element("span", raw), enlarge),
        element("div", class_="canvas", role="img", aria_label=f"{series.name}: {content.in_words(series)}"),
        class_="plot",
        title=inspection.meaning(series) or None,
        data_metric=_exact(series.name),
        data_axis=series.axis,
        data_unit=axis_word(series.axis),
        data_from=_number(domain[0]),
        data_to=_number(domain[1]),
        data_tall=tall,
        data_log=scale is not None and scale.log,
        **{f"data_{name}": _number(value) for name, value in marks.items()},
    )


def _exact(value: Any) -> str:
    """JSON in pure ASCII, so that the script gets names exactly as they are in the log."""
    return json.dumps(value)


def _number(value: float | None) -> str | None:
    return None if value is None else repr(float(value))
