"""A curve as rows of characters: two rows of blocks, an axis with the onset, and labels."""

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.reports import curves
from firstbreak.values import dataclass

GUTTER = 10  # columns for the labels of the y axis


@dataclass(frozen=True)
class Ink:
    """The characters of a drawn curve."""

    levels: str  #: from empty to full
    gap: str  #: a value that is not finite
    axis: str
    between: str  #: the interval of the onset
    onset: str


BLOCKS = Ink(levels=" ▁▂▃▄▅▆▇█", gap="×", axis="─", between="━", onset="▲")
ASCII = Ink(levels=" .:|", gap="x", axis="-", between="=", onset="^")


def draw(
    series: Series, domain: Interval, width: int, onset: float | None, interval: Interval | None, ink: Ink = BLOCKS
) -> list[str]:
    """Four rows of at most `width` characters: highest, lowest, axis, steps."""
    n = max(8, width - GUTTER - 1)
    scale = curves.scale(series)
    upper, lower = _blocks(series, domain, n, scale, ink)
    high, low = (curves.label(scale.high), curves.label(scale.low)) if scale else ("", "")
    axis, steps = _axis(domain, n, onset, interval, ink)
    labels = (high, low, "log scale" if scale and scale.log else "", "")
    rows = (upper, lower, axis, steps)
    return [f"{edge:>{GUTTER}} {row}".rstrip() for edge, row in zip(labels, rows, strict=True)]


def line(series: Series, width: int, ink: Ink = BLOCKS) -> str:
    """A curve over its own steps, in one row of `width` characters."""
    domain = (float(series.steps[0]), float(series.steps[-1]))
    values, broken = curves.columns(series, domain, max(8, width))
    scale, top = curves.scale(series), len(ink.levels) - 1
    heights = [0 if scale is None or v != v else 1 + round(float(scale(v)) * (top - 1)) for v in values]
    return "".join(ink.gap if gap else ink.levels[h] for h, gap in zip(heights, broken, strict=True))


def _blocks(series: Series, domain: Interval, n: int, scale: curves.Scale | None, ink: Ink) -> tuple[str, str]:
    """Two rows. A column with a value shows at least the lowest block, so that zero differs from no value."""
    shown, broken = curves.columns(series, domain, n)
    full = len(ink.levels) - 1
    heights = np.zeros(n, dtype=int)
    drawn = np.isfinite(shown)
    if scale is not None:
        heights[drawn] = 1 + np.round(scale(shown[drawn]) * (2 * full - 1)).astype(int)
    upper = "".join(ink.levels[height] for height in np.maximum(0, heights - full))
    lower = "".join(ink.levels[height] for height in np.minimum(heights, full))
    return upper, "".join(ink.gap if gap else block for gap, block in zip(broken, lower, strict=True))


def _axis(domain: Interval, n: int, onset: float | None, interval: Interval | None, ink: Ink) -> tuple[str, str]:
    line = [ink.axis] * n
    steps = [" "] * n
    first_label, last_label = map(curves.label, domain)
    _write(steps, 0, first_label)
    _write(steps, n - len(last_label), last_label)
    if interval is not None:
        first, last = (_column(end, domain, n) for end in interval)
        line[first : last + 1] = ink.between * (last + 1 - first)
    if onset is not None:
        at = _column(onset, domain, n)
        line[at] = ink.onset
        text = curves.label(onset)
        place = min(max(0, at - len(text) // 2), n - len(text))
        if all(c == " " for c in steps[max(0, place - 1) : place + len(text) + 1]):
            _write(steps, place, text)
    return "".join(line), "".join(steps)


def _column(place: float, domain: Interval, n: int) -> int:
    return min(int(curves.across(place, domain) * n), n - 1)


def _write(row: list[str], place: int, text: str) -> None:
    if place >= 0:
        row[place : place + len(text)] = text
