"""Draws one fault: curves of healthy and of faulty runs with the same seeds, with the true onset marked.

The first panel is the score. The other panels are the curves that the fault changes most: the distance between the two
groups after the onset, divided by their spread. Of one family of curves (`kl.ref` and `kl.ref.max`), only the curve that
changes more is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from firstbreak.dialects import signals
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Run, Series
from firstbreak.reports import curves
from firstbreak.reports.markup import Markup, element
from firstbreak.words import number
from firstbreak_lab import corpus
from firstbreak_lab.harm_test import TWIN, Setting
from firstbreak_lab.running import Label

PANELS = 6
COLUMNS = 2
WIDTH, HEIGHT = 420, 190  #: of a panel, in pixels
LEFT, TOP, RIGHT, BOTTOM = 14, 34, 14, 26  #: of the plot within its panel
HEAD = 64  #: pixels above the panels
HEALTHY, FAULTY, ONSET, INK, FAINT = "#4477aa", "#cc3311", "#333333", "#222222", "#888888"
FAINTEST = 1e-9  #: a spread below this share of the curve's size counts as zero


@dataclass(frozen=True)
class Twins:
    """The runs of a figure."""

    faulty: tuple[Run, ...]
    healthy: tuple[Run, ...]
    label: Label  #: of one of the faulty runs


def figure(folder: Path, setting: Setting) -> str:
    """The figure as SVG, from the runs of a corpus.

    Raises LookupError with one line if the corpus does not contain the runs.
    """
    twins = gather(folder, setting)
    return draw(twins, panels(twins))


def gather(folder: Path, setting: Setting) -> Twins:
    """The runs of a setting, and the healthy runs of its base with the same seeds."""
    variant, base, severity = setting
    labels = corpus.labels(folder).values()
    faulty = [label for label in labels if (label.variant, label.base, label.severity) == setting]
    seeds = {label.seed for label in faulty}
    healthy = [label for label in labels if (label.variant, label.base) == (TWIN, base) and label.seed in seeds]
    if not faulty or not healthy:
        what = (
            f"no run of {variant} in {base} with severity {severity:g}" if not faulty else f"no healthy run of {base}"
        )
        raise LookupError(f"{folder}: contains {what} with the same seeds; make them with `firstbreak lab build`")
    read = {wanted: tuple(_read(folder, group)) for wanted, group in (("faulty", faulty), ("healthy", healthy))}
    return Twins(read["faulty"], read["healthy"], faulty[0])


def _read(folder: Path, wanted: Sequence[Label]) -> list[Run]:
    """The runs with their score as a curve, and without samples, which need the open archive."""
    found = []
    for _, run in corpus.runs(folder, lambda label: label in wanted):
        score = Inputs(run).score
        shown = {"score": replace(score, name=f"score: {score.name}")} if score is not None else {}
        found.append(replace(run, series={**shown, **run.series}, samples=None))
    return found


def panels(twins: Twins, most: int = PANELS) -> list[str]:
    """The curves to draw: the score, then the curves that the fault changes most."""
    names = set.intersection(*(set(run.series) for run in (*twins.faulty, *twins.healthy))) - {"score"}
    moved = sorted(names, key=lambda name: (-moves(twins, name), name))
    chosen: dict[str, str] = {}
    scored = {run.series["score"].name.removeprefix("score: ") for run in twins.healthy if "score" in run.series}
    for name in moved:
        if name not in scored and not name.startswith("progress."):
            chosen.setdefault(_family(name), name)
    return ["score", *chosen.values()][:most]


def moves(twins: Twins, name: str) -> float:
    """The distance between the two groups' means of a curve after the onset, divided by the spread within the groups."""
    onset = twins.label.onset or 0
    faulty, healthy = (
        np.array([_mean_after(run.series[name], onset) for run in runs]) for runs in (twins.faulty, twins.healthy)
    )
    both = np.concatenate([faulty, healthy])
    if not np.isfinite(both).all():
        return 0.0
    spread = np.sqrt((faulty.var() + healthy.var()) / 2) + FAINTEST * np.abs(both).max()
    return float(abs(faulty.mean() - healthy.mean()) / spread) if spread else 0.0


def _mean_after(series: Series, onset: float) -> float:
    after = series.finite.between(onset).values
    return float(after.mean()) if len(after) else float("nan")


def _family(name: str) -> str:
    stem, _, last = name.partition("@")[0].rpartition(".")
    return stem if last in signals.STATISTICS or last in signals.ESTIMATORS else name.partition("@")[0]


def draw(twins: Twins, names: Sequence[str]) -> str:
    """All panels, in rows of COLUMNS panels."""
    rows = -(-len(names) // COLUMNS)
    width, height = COLUMNS * WIDTH, HEAD + rows * HEIGHT
    label = twins.label
    n_faulty, n_healthy = len(twins.faulty), len(twins.healthy)
    title = f"{label.variant} in {label.base}, severity {label.severity:g}"
    return element(
        "svg",
        element("title", f"{title}: {n_faulty} faulty and {n_healthy} healthy runs"),
        element("rect", width=width, height=height, fill="#ffffff"),
        _text(title, LEFT, 24, size=16, weight="bold"),
        _key(LEFT, HEALTHY, f"{n_healthy} healthy"),
        _key(LEFT + 110, FAULTY, f"{n_faulty} with the fault ({label.link}: {label.cause})"),
        *(_panel(twins, name, i % COLUMNS * WIDTH, HEAD + i // COLUMNS * HEIGHT) for i, name in enumerate(names)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        font_family="system-ui, sans-serif",
    )


def _panel(twins: Twins, name: str, x: float, y: float) -> Markup:
    shown = [run.series[name].finite for run in (*twins.healthy, *twins.faulty) if name in run.series]
    shown = [series for series in shown if len(series)]
    if not shown:
        return element("g", _text(f"{name}: not recorded", LEFT, TOP - 12, size=12), transform=f"translate({x},{y})")
    domain = (min(float(s.steps[0]) for s in shown), max(float(s.steps[-1]) for s in shown))
    scale = curves.scale(replace(shown[0], values=np.concatenate([s.values for s in shown]), steps=np.zeros(0)))
    assert scale is not None
    traces = [
        _trace(run.series[name], scale, domain, colour)
        for runs, colour in ((twins.healthy, HEALTHY), (twins.faulty, FAULTY))
        for run in runs
        if name in run.series
    ]
    log = " (log scale)" if scale.log else ""
    return element(
        "g",
        _text(f"{shown[0].name}{log}", LEFT, TOP - 12, size=12, weight="bold"),
        _text(f"{curves.label(scale.low)} to {curves.label(scale.high)}", WIDTH - RIGHT, TOP - 12, anchor="end"),
        element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, stroke=FAINT),
        *traces,
        _onset(twins.label, domain),
        _text(curves.label(domain[0]), LEFT, HEIGHT - BOTTOM + 14),
        _text(f"{curves.label(domain[1])} {shown[0].axis}s", WIDTH - RIGHT, HEIGHT - BOTTOM + 14, anchor="end"),
        transform=f"translate({x},{y})",
    )


def _across(step: float | np.ndarray, domain: tuple[float, float]) -> np.ndarray:
    return LEFT + (WIDTH - LEFT - RIGHT) * curves.across(step, domain)


def _trace(series: Series, scale: curves.Scale, domain: tuple[float, float], colour: str) -> Markup:
    pieces = []
    for piece in curves.thin(series):
        heights = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * scale(piece.values)
        points = [f"{px:.1f},{py:.1f}" for px, py in zip(_across(piece.steps, domain), heights, strict=True)]
        pieces.append("M" + "L".join(points) + ("h0" if len(points) == 1 else ""))
    return element("path", d="".join(pieces), fill="none", stroke=colour, stroke_width="1.3", stroke_opacity="0.75")


def _onset(label: Label, domain: tuple[float, float]) -> Markup | None:
    if label.onset is None:
        return None
    x = float(_across(label.onset, domain))
    right = x > WIDTH / 2
    return element(
        "g",
        element("line", x1=x, x2=x, y1=TOP - 4, y2=HEIGHT - BOTTOM, stroke=ONSET, stroke_dasharray="4 3"),
        _text(f"fault at {number(label.onset)}", x + (-4 if right else 4), TOP + 6, anchor="end" if right else "start"),
    )


def _key(x: float, colour: str, text: str) -> Markup:
    return element(
        "g",
        element("line", x1=x, x2=x + 18, y1=42, y2=42, stroke=colour, stroke_width="3"),
        _text(text, x + 24, 46, size=12),
    )


def _text(text: str, x: float, y: float, *, size: int = 11, weight: str = "normal", anchor: str = "start") -> Markup:
    fill = FAINT if size < 12 else INK
    return element("text", text, x=x, y=y, font_size=size, font_weight=weight, text_anchor=anchor, fill=fill)
