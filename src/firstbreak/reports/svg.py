"""The pictures of a report: the loop as a ring of ten links, a curve with its onset, and bars."""

import math
from collections.abc import Callable, Sequence

from firstbreak.model import Diagnosis, Interval, Link, LinkStatus, Series
from firstbreak.preflight import Stacks
from firstbreak.reports import content, curves
from firstbreak.reports.content import Exhibit
from firstbreak.reports.markup import Markup, element, filled, join
from firstbreak.reports.text import shorter
from firstbreak.words import link_word, moment, number

# The ring, in units of its view box: as wide as the screen of a phone, so that text keeps its size there.
WIDTH, HEIGHT = 376, 300
CENTRE = (WIDTH / 2, HEIGHT / 2)
RADIUS = 90.0
NODE = 13.0
MIDDLE = 19  # characters of a line between the nodes
# A curve's picture, in pixels: the flag of the onset, the plot, the labels of the axis.
FLAG, PLOT, LABELS = 20, 88, 20

_SYMBOL = {
    LinkStatus.OK: "M-4.5,0.5 L-1.5,3.5 L4.5,-3.5",
    LinkStatus.BROKEN: "M-4,-4 L4,4 M4,-4 L-4,4",
    LinkStatus.SUSPECT: "M0,-5.5 L0,1 M0,5 L0,5.01",
    LinkStatus.NOT_MEASURED: "M-3,-2.5 A3,3 0 1 1 1,0.3 Q0,0.8 0,2 M0,5.5 L0,5.51",
    LinkStatus.NOT_APPLICABLE: "M-4,0 L4,0",
}


_SHARE = """<svg class="bar" aria-hidden="true"><rect width="100%" height="100%" class="empty"></rect>\
<rect width="$width%" height="100%"></rect></svg>"""
_PIECE = '<rect x="$start" width="$width" height="100%" class="$kind"><title>$said</title></rect>'
_STACK = """<svg class="stack" role="img" aria-label="$label"><rect width="$end" height="100%" class="empty"></rect>$pieces\
<line x1="$end" x2="$end" y1="-3" y2="100%"></line></svg>"""
_STRETCHED = """<svg x="0" y="$top" width="100%" height="$height" viewBox="0 0 1000 100" preserveAspectRatio="none" \
overflow="visible"><path d="$path" class="trace"></path></svg>"""
_ONSET = """<g class="onset"><line x1="$x" x2="$x" y1="4" y2="$bottom"></line>\
<text x="$x" dx="$dx" y="13" text-anchor="$side">$step</text></g>"""


def ring(dx: Diagnosis, uid: str, address: Callable[[Link], str | None] = lambda link: None) -> Markup:
    """The loop, clockwise from the top, with the first break as text in the middle. `uid` makes ids unique.

    `address`: where a click on a link goes.
    """
    broken = math.inf if dx.first_break is None else min(named.order for named in dx.first_break.links)
    statuses = ", ".join(f"{link_word(link)} {content.status_word(dx, link)}" for link in Link)
    return element(
        "svg",
        element("title", f"The training loop: {content.headline(dx)}", id=f"{uid}-title"),
        element("desc", f"Ten links in a ring, in this order: {statuses}.", id=f"{uid}-desc"),
        *(_arc(link, link.order >= broken) for link in Link),
        *(_node(dx, link, address(link)) for link in Link),
        _middle(dx),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="ring",
        role="group",  # an image has no links in it
        aria_labelledby=f"{uid}-title {uid}-desc",
    )


def _angle(place: float) -> float:
    """The angle of a place in the loop, in radians, clockwise from the top."""
    return 2 * math.pi * place / len(Link)


def _point(angle: float, radius: float) -> tuple[float, float]:
    return CENTRE[0] + radius * math.sin(angle), CENTRE[1] - radius * math.cos(angle)


def _arc(link: Link, tainted: bool) -> Markup:
    """The arrow from a link to the next one."""
    trim = (NODE + 5) / RADIUS
    start, end = _angle(link.order) + trim, _angle(link.order + 1) - trim
    (x0, y0), (x1, y1) = _point(start, RADIUS), _point(end, RADIUS)
    head = (_point(end + 0.04, RADIUS), _point(end - 0.045, RADIUS + 4), _point(end - 0.045, RADIUS - 4))
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in head)
    curve = f"M{x0:.1f},{y0:.1f} A{RADIUS:g},{RADIUS:g} 0 0 1 {x1:.1f},{y1:.1f}"
    kind = "arc tainted" if tainted else "arc"
    return element("g", element("path", d=curve), element("polygon", points=points), class_=kind)


def _node(dx: Diagnosis, link: Link, address: str | None) -> Markup:
    status = dx.links[link].status
    angle = _angle(link.order)
    x, y = _point(angle, RADIUS)
    lx, ly = _point(angle, RADIUS + NODE + 9)
    side = math.sin(angle)
    anchor = "middle" if abs(side) < 0.1 else "start" if side > 0 else "end"
    # Two lines of label: above the ring's top node, below its bottom node, centred beside the others.
    first = ly - 13 + 20 * (1 - math.cos(angle)) / 2
    radius = NODE + 3 if status is LinkStatus.BROKEN else NODE
    return element(
        "g" if address is None else "a",
        element("title", f"{link_word(link)}: {content.status_word(dx, link)}. {dx.links[link].why}"),
        element("circle", r=radius, cx=x, cy=y),
        element("path", d=_SYMBOL[status], transform=f"translate({x:.1f},{y:.1f})", class_="symbol"),
        element("text", link_word(link), x=lx, y=first, text_anchor=anchor, class_="name"),
        element("text", content.status_word(dx, link), x=lx, y=first + 13, text_anchor=anchor, class_="status"),
        href=address,
        class_=f"link {status.value}{' first' if content.one_of_two(dx, link) else ''}",
    )


def _middle(dx: Diagnosis) -> Markup:
    first = dx.first_break
    if first is None:
        unseen = content.headline(dx).partition("; " if dx.verdict.known else ": ")[2]
        lines = [
            ("no break found" if dx.verdict.known else "cannot tell yet", "big"),
            *((part, "small") for part in unseen.split(" links ") if part),
        ]
    else:
        step = "" if first.step is None else shorter(f"at {moment(dx.run.axis_of(first.metric), first.step, None)}")
        *either, last = map(link_word, first.links)
        lines = [(content.kind_of_break(dx), "small"), *((f"{name} or", "big") for name in either), (last, "big")]
        lines += [(line, "small") for line in ("or earlier" if first.or_earlier else "", *_short(step)) if line]
    top = CENTRE[1] - 9 * (len(lines) - 1)
    return join(
        *(
            element("text", line, x=CENTRE[0], y=top + 18 * i + 5, text_anchor="middle", class_=f"middle {size}")
            for i, (line, size) in enumerate(lines)
        )
    )


def _short(step: str) -> list[str]:
    """A text as one line of the ring's middle, or as two where it would reach into the nodes."""
    words, _, number = step.rpartition(" ")
    return [step] if len(step) <= MIDDLE else [words, number]


def curve(
    exhibit: Exhibit,
    series: Series,
    domain: Interval,
    uid: str,
    scale: curves.Scale | None = None,
    best: float | None = None,
) -> Markup:
    """A curve with the width of its container: with the stretch of the evidence, interval and flag of the onset, and the step
    to go back to (`best`) as a dashed line. Text keeps its size, and only the line is stretched.

    `scale`: that of the curves beside it; otherwise its own.
    """
    scale = scale or curves.scale(series, exhibit.level)
    marked = f" Best checkpoint marked: {number(best)}." if best is not None else ""
    place = 0.0 if best is None else f"{_percent(best, domain):.2f}%"
    return element(
        "svg",
        element("title", content.caption(exhibit) or series.name, id=f"{uid}-title"),
        element("desc", _described(exhibit, series) + marked, id=f"{uid}-desc"),
        None if exhibit.since is None else _stretch(exhibit.since, exhibit.until, domain, "affected"),
        None if exhibit.interval is None else _stretch(*exhibit.interval, domain, "band"),
        element("line", x1="0", x2="100%", y1=FLAG + PLOT, y2=FLAG + PLOT, class_="axis"),
        _flag(exhibit, domain),
        None if scale is None else _line(series, scale, domain),
        None if scale is None else _level(exhibit, scale),
        element("line", x1=place, x2=place, y1=FLAG, y2=FLAG + PLOT, class_="best") if best is not None else None,
        *(_gap(place) for place in curves.gaps(series, domain, 150)),
        element("text", curves.label(domain[0]), x="0", y=FLAG + PLOT + 15, class_="tick"),
        element("text", curves.label(domain[1]), x="100%", y=FLAG + PLOT + 15, text_anchor="end", class_="tick"),
        class_="curve",
        width="100%",
        height=FLAG + PLOT + LABELS,
        role="img",
        aria_labelledby=f"{uid}-title {uid}-desc",
    )


def bar(start: float, interval: Interval | None, link: Link) -> Markup:
    """One bar of the cascade, from its onset to the end; before it, the interval of the onset. Places in 0..1."""

    def part(since: float, until: float, kind: str | None = None) -> Markup:
        return element(
            "rect", x=f"{100 * since:.2f}%", width=f"{100 * (until - since):.2f}%", height="100%", class_=kind
        )

    early = part(interval[0], start, "early") if interval is not None and interval[0] < start else None
    return element("svg", early, part(start, 1), class_=f"lane at-{link.value}", aria_hidden="true")


def stack(parts: Sequence[tuple[str, float]], stacks: Stacks, label: str) -> Markup:
    """One bar of named parts on the scale of all bars, with the line of the capacity."""
    pieces, start = [], 0.0
    for i, (name, amount) in enumerate(parts):
        width = 100 * amount / stacks.top
        said = f"{name}: {number(amount)} {stacks.unit}"
        if amount:
            pieces.append(filled(_PIECE, said=said, start=f"{start:.2f}%", width=f"{width:.2f}%", kind=f"part-{i}"))
        start += width
    end = f"{100 * stacks.capacity / stacks.top:.2f}%"
    words = ", ".join(f"{name} {number(amount)}" for name, amount in parts if amount)
    whole = f"{label}, {stacks.unit}: {words}; {stacks.line}"
    return filled(_STACK, end=end, pieces=join(*pieces), label=whole)


def share(part: float) -> Markup:
    """A bar that fills `part` (0..1) of its place."""
    return filled(_SHARE, width=f"{100 * part:.1f}")


def _described(exhibit: Exhibit, series: Series) -> str:
    time = moment(series.axis, exhibit.onset, exhibit.interval)
    return f"{content.in_words(series)}.{f' Onset marked: {time}.' if time else ''}"


def path(series: Series, scale: curves.Scale, domain: Interval, width: float, height: float) -> str:
    """The path of a curve in a box, thinned; few points are steps. A single point is drawn as a dot."""
    pieces, joint = [], "H{0:.1f}V{1:.1f}" if len(series.finite) <= curves.FEW else "L{0:.1f},{1:.1f}"
    for piece in curves.thin(series):
        x, y = width * curves.across(piece.steps, domain), height * (1 - scale(piece.values))
        rest = "".join(joint.format(*point) for point in zip(x[1:], y[1:], strict=True))
        pieces.append(f"M{x[0]:.1f},{y[0]:.1f}{rest or 'h0'}")
    return "".join(pieces)


def spark(series: Series) -> Markup | None:
    """A curve as small as a word, over its own steps. None without a finite value."""
    scale = curves.scale(series)
    if scale is None:
        return None
    drawn = path(series, scale, (float(series.steps[0]), float(series.steps[-1])), 100, 20)
    title = element("title", f"{series.name} {content.in_words(series)}")
    box = {"viewBox": "0 -2 100 24", "preserveAspectRatio": "none"}
    return element("svg", title, element("path", d=drawn), role="img", class_="spark", **box)


def _line(series: Series, scale: curves.Scale, domain: Interval) -> Markup:
    """The curve as a nested picture that is stretched to the plot."""
    return filled(_STRETCHED, path=path(series, scale, domain, 1000, 100), top=FLAG, height=PLOT)


def _percent(step: float, domain: Interval) -> float:
    return 100 * float(curves.across(step, domain))


def _stretch(since: float, until: float | None, domain: Interval, kind: str) -> Markup:
    start = _percent(since, domain)
    width = max(0.0, (100.0 if until is None else _percent(until, domain)) - start)
    return element("rect", x=f"{start:.2f}%", y=FLAG, width=f"{width:.2f}%", height=PLOT, class_=kind)


def _flag(exhibit: Exhibit, domain: Interval) -> Markup | None:
    if exhibit.onset is None:
        return None
    place = _percent(exhibit.onset, domain)
    side, dx = ("end", "-6") if place > 50 else ("start", "6")
    return filled(_ONSET, x=f"{place:.2f}%", bottom=FLAG + PLOT, dx=dx, side=side, step=curves.label(exhibit.onset))


def _level(exhibit: Exhibit, scale: curves.Scale) -> Markup | None:
    """The line of the threshold, if it is within the scale."""
    level = exhibit.level
    if level is None or not scale.low <= level <= scale.high:
        return None
    y = FLAG + PLOT * (1 - float(scale(level)))
    return element("line", x1="0", x2="100%", y1=y, y2=y, class_="level")


def _gap(place: float) -> Markup:
    """The mark of a non-finite value, at the bottom of the plot."""
    x = f"{100 * place:.2f}%"
    return element("line", x1=x, x2=x, y1=FLAG + PLOT - 8, y2=FLAG + PLOT, class_="gap")
