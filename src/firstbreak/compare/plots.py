"""Plots of several seeds: each run as a thin line, the interquartile mean of its arm as a thick line, performance profiles."""

import math
from collections.abc import Sequence

import numpy as np

from firstbreak.compare.arms import Arm
from firstbreak.compare.first_difference import at, grid
from firstbreak.compare.statistics import iqm, profile
from firstbreak.model import Series
from firstbreak.reports import curves
from firstbreak.reports.markup import Markup, element, join
from firstbreak.reports.text import count
from firstbreak.words import axis_word

WIDTH, HEIGHT, MARGIN, ROW = 720, 260, 56, 18
#: Okabe and Ito's colours, which colour-blind readers can distinguish; further arms differ in their dashes
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
DASHES = (None, "7 3", "2 3", "9 3 2 3")
THRESHOLDS = 101
TICKS = 5  #: numbers beside an axis
ENOUGH = 3  #: runs of each side; the shares of fewer show nothing
PAD = 0.04  #: of the height, between a curve and the axis

Line = tuple[np.ndarray, np.ndarray]


def scores(compared: Sequence[Arm]) -> str:
    """An SVG document: the score of every run over its steps, and the share of runs above each final score."""
    drawn = [arm for arm in compared if any(m.score is not None for m in arm.members)]
    if not drawn:
        raise ValueError("no run records a score")
    kinds = dict.fromkeys((s.name, s.axis) for arm in drawn for m in arm.members if (s := m.score) is not None)
    panels = [(_trajectories(drawn, kind), f"{kind[0]} over {axis_word(kind[1])}s") for kind in kinds]
    if len(kinds) == 1 and min(sum(map(len, arm.scores.values())) for arm in drawn) >= ENOUGH:
        panels.append((_profiles(drawn), "share of runs above a final score"))
    top = ROW * len(drawn) + 0.75 * MARGIN
    height = top + len(panels) * (HEIGHT + MARGIN)
    body = join(
        element("title", "Scores of " + ", ".join(arm.name for arm in drawn)),
        element("rect", width=WIDTH, height=height, fill="#ffffff", class_="sheet"),
        _legend(drawn),
        *(_panel(lines, heading, top + i * (HEIGHT + MARGIN)) for i, (lines, heading) in enumerate(panels)),
    )
    return element(
        "svg",
        body,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height:g}",
        font_family="system-ui, sans-serif",
        font_size=12,
        role="img",
        class_="scores",
    )


def _legend(drawn: Sequence[Arm]) -> Markup:
    return join(
        *(
            element(
                "g",
                _path([(20, 0), (60, 0)], i, 2.5),
                element("text", f"{arm.name} ({count(len(arm.members), 'run')})", x=70, y=4),
                transform=f"translate(0,{ROW * (i + 1)})",
            )
            for i, arm in enumerate(drawn)
        )
    )


def _trajectories(drawn: Sequence[Arm], kind: tuple[str, str]) -> list[tuple[int, float, Line]]:
    """(arm, width, line) of every run and of the interquartile mean of each arm. `kind`: name of the score, its steps."""
    lines: list[tuple[int, float, Line]] = []
    for i, arm in enumerate(drawn):
        series = [s for m in arm.members if (s := m.score) is not None and (s.name, s.axis) == kind]
        width = 0.6 if len(series) > 1 else 1.5
        lines += [(i, width, (piece.steps, piece.values)) for s in series for piece in curves.thin(s)]
        places = grid(series) if len(series) > 1 else np.array([])
        if len(places):
            lines.append((i, 2.5, (places, iqm(np.stack([at(s, places) for s in series], axis=1)))))
    return lines


def _profiles(drawn: Sequence[Arm]) -> list[tuple[int, float, Line]]:
    """(arm, width, line) of each performance profile, with thin lines for its 95 % band."""
    finals = [[*arm.scores.values()] for arm in drawn]
    every = np.concatenate([task for arm in finals for task in arm])
    places = np.linspace(every.min(), every.max(), THRESHOLDS)
    lines: list[tuple[int, float, Line]] = []
    for i, arm in enumerate(finals):
        share, low, high = profile(arm, places)
        lines += [(i, 2.5, (places, share))]
        lines += [(i, 0.6, (places, low)), (i, 0.6, (places, high))] if sum(map(len, arm)) > 1 else []
    return lines


def _panel(lines: Sequence[tuple[int, float, Line]], heading: str, top: float) -> Markup:
    xs, ys = (np.concatenate([line[k] for _, _, line in lines]) for k in (0, 1))
    domain = (float(xs.min()), float(xs.max()))
    scale = curves.scale(Series(name="", steps=xs, values=ys))
    assert scale is not None  # every line is finite
    inner = WIDTH - 2 * MARGIN
    low, tall = HEIGHT * (1 - PAD), HEIGHT * (1 - 2 * PAD)
    drawn = [
        _path(zip(MARGIN + inner * curves.across(x, domain), low - tall * scale(y), strict=True), arm, width)
        for arm, width, (x, y) in lines
    ]
    labels = [
        element("text", f"{heading}{' (log scale)' if scale.log else ''}", x=MARGIN, y=-8, font_weight="bold"),
        *(
            element(
                "text",
                curves.label(x),
                x=MARGIN + inner * float(curves.across(x, domain)),
                y=HEIGHT + 16,
                text_anchor="middle",
            )
            for x in _ticks(curves.Scale(*domain))
        ),
        *(
            element("text", curves.label(y), x=MARGIN - 6, y=low - tall * float(scale(y)) + 4, text_anchor="end")
            for y in _ticks(scale)
        ),
        element("path", d=f"M{MARGIN},0V{HEIGHT}H{WIDTH - MARGIN}", fill="none", stroke="#888888"),
    ]
    return element("g", *labels, *drawn, transform=f"translate(0,{top:g})")


def _ticks(scale: curves.Scale) -> list[float]:
    """A few round numbers within a scale; its ends where there are fewer than two."""
    low, high = (math.log10(end) if scale.log else end for end in (scale.low, scale.high))
    raw = high / TICKS - low / TICKS
    if not raw:
        return [scale.low]
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * m for m in (1, 2, 5, 10) if unit * m >= raw)
    step = max(1.0, step) if scale.log else step
    found = [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    found = [10.0**power for power in found] if scale.log else [float(f"{tick:.12g}") for tick in found]
    return found if len(found) > 1 else [scale.low, scale.high]


def _path(points: object, arm: int, width: float) -> Markup:
    pairs = list(points)  # type: ignore[call-overload]
    return element(
        "path",
        d="M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in pairs) + ("h0" if len(pairs) == 1 else ""),
        fill="none",
        stroke=COLOURS[arm % len(COLOURS)],
        stroke_width=width,
        stroke_dasharray=DASHES[arm // len(COLOURS) % len(DASHES)] if width < 1 else None,
        stroke_opacity=1 if width > 1 else 0.55,
    )
