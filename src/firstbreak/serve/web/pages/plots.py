"""Placeholders for curves. The script of the page draws a curve when it comes into view."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from firstbreak.compare.page import LOOKS
from firstbreak.model import Interval, Series
from firstbreak.reports import content, curves, html, inspection
from firstbreak.reports.markup import Markup, element, join
from firstbreak.serve.web.pages.frame import anchor, filled
from firstbreak.words import axis_word, shortened

LONGEST_NAME = 64  #: characters of a name in the legend
_MARKS = (
    "Red line: the onset of a finding, with its interval shaded, or the interval of the first break. Dashed green line: the "
    "best checkpoint."
)
_BANDS = "Line and band: mean, lowest and highest of the runs of a side; of more than four sides the mean alone."


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
    several = groups_of is not None and len(set(groups_of)) < len(groups_of)
    hint = " ".join(text for text, holds in ((_MARKS, onset is not None), (_BANDS, several)) if holds)
    sections = (
        element(
            "details" if between else "section",  # behind a comparison, which begins with the curves that matter
            element("summary" if between else "h3", f"{title} ({len(members)})"),
            element("div", *members, class_="plots"),
            id="curves" if between and i == 0 else None,
        )
        for i, (title, members) in enumerate(shown)
    )
    return element(
        "div",
        filled(
            "curve-tools",
            axes=_options(axes),
            single=element("label", element("input", type="checkbox", id="single"), "Each run") if several else "",
            onset=element("button", "Onset", type="button", data_zoom="onset") if onset is not None else "",
            legend=_legend(legend),
            hint=hint,
        ),
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


def _options(axes: Sequence[tuple[str, str, bool]]) -> Markup:
    return join(
        *(
            element("option", word if recorded else f"{word}: not recorded by all", value=key, disabled=not recorded)
            for key, word, recorded in axes
        )
    )


def _legend(names: Sequence[str]) -> Markup:
    buttons = (
        element(
            "button",
            element("span", class_=f"swatch run-{i % LOOKS}", aria_hidden="true"),
            html.literal(shortened(name, LONGEST_NAME)),
            type="button",
            title=name,
            data_run=i,
            aria_pressed="true",
        )
        for i, name in enumerate(names)
    )
    return join(*buttons)


def plot(
    series: Series,
    domain: Interval,
    *,
    tall: bool = False,
    raws: Sequence[str] = (),
    over: str = "",
    **marks: float | None,
) -> Markup:
    """The placeholder of one curve, with marks to draw: `onset`, `low` and `high` of its interval, `level`.

    `raws`: how the runs log it; `over`: the kind of its steps, where others have another one.
    """
    scale = curves.scale(series)
    logged = " or ".join(raw for raw in raws or [series.raw] if raw not in ("", series.name))
    said = "; ".join(filter(None, (f"logged as {logged}" if logged else "", f"over {over}s" if over else "")))
    return element(
        "figure",
        filled("figcaption", shown=html.literal(series.name), said=said, name=series.name),
        element("div", class_="canvas", role="img", aria_label=f"{series.name}: {content.in_words(series)}"),
        class_="plot",
        title=inspection.meaning(series) or None,
        id=anchor("curve", series.name, series.axis),
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
