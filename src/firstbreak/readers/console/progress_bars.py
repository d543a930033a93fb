"""tqdm: `Train epoch [1/1]:  12%|█▏  | 2/16 [00:30<03:40, 2.5s/it, act_loss=0.1, reward=0.4]`

The step is the number of iterations so far, over all bars of the same label: a bar that starts again goes on counting.

A bar without numbers gives its count to the rows that are printed beside it, where these say no step themselves:

     14%|█▍        | 43/300 [10:00<60:00, 14.0s/it]
    {'loss': 0.01, 'reward': 1.2, 'epoch': 0.14}           belongs to step 43
"""

import re

import numpy as np

from firstbreak.readers import Curve
from firstbreak.readers.console._reading import NOTHING, VALUE, ParsedLine, scaled

_BAR = re.compile(r"[^|]*\|\s*(?P<done>\d+)/\d+ \[(?P<rest>.*)\]")
_PAIR = re.compile(rf"(?P<name>[A-Za-z_][\w/@.-]*)={VALUE}(?=[,\s\]]|$)")
_COUNTERS = re.compile(r"\d+")
_SPEED = re.compile(r", *([\d.]+)(it/s|s/it)\b")


class ProgressBars:
    """Bars with numbers behind them; it remembers how far each has come."""

    def __init__(self) -> None:
        self.done: dict[str, tuple[float, float]] = {}  #: label -> iterations of earlier bars, of this bar

    def read(self, line: str) -> ParsedLine | None:
        """A whole row per update of the bar."""
        before, percent, after = line.partition("%|")
        if not percent or (bar := _BAR.match(after)) is None:
            return None
        values = {found["name"]: scaled(found) for found in _PAIR.finditer(bar["rest"])}
        if not values:
            return NOTHING
        if speed := _SPEED.search(bar["rest"]):
            values["it/s"] = float(speed[1]) if speed[2] == "it/s" else 1 / max(float(speed[1]), 1e-9)
        label = _COUNTERS.sub("#", before)
        earlier, last = self.done.get(label, (0.0, 0.0))
        done = float(bar["done"])
        if done < last:
            earlier += last
        self.done[label] = (earlier, done)
        return ParsedLine(values, earlier + done)


_BESIDE = re.compile(r"(?:(?P<label>[\w .\[\]/-]{0,40}):\s*)?\d{1,3}%\|[^|]*\|\s*(?P<done>\d+)/(?P<total>\d+) \[")
_MAX_BARS = 64  # others are left out: a log of downloads and of generations, say
_COVERED = 0.9  # share of the rows that need a bar beside them
_RISES = 0.9

Bar = tuple[str, float]  #: label, total


class InterleavedBars:
    """How far each bar had come when a row was printed; from that, the one that counts the training."""

    def __init__(self) -> None:
        self._done: dict[Bar, float] = {}
        self._moved: set[Bar] = set()
        self._seen: dict[Bar, list[tuple[int, float]]] = {}  #: (row, iterations) at each row after a movement
        self._reported = -1  #: the last row whose step was given away

    def see(self, line: str) -> None:
        """Looks at any line."""
        for found in _BESIDE.finditer(line) if "%|" in line else ():
            bar = (_COUNTERS.sub("#", found["label"] or ""), float(found["total"]))
            if bar in self._done or len(self._done) < _MAX_BARS:
                self._done[bar] = float(found["done"])
                self._moved.add(bar)

    def row(self, row: int) -> None:
        """A row is printed."""
        for bar in self._moved:
            self._seen.setdefault(bar, []).append((row, self._done[bar]))
        self._moved.clear()

    def steps(self, rows: int) -> tuple[str, Curve] | None:
        """The name of what is counted, and its count at each row that was not told yet; None where no bar counts the rows.

        Bars of other totals may follow each other, one for each training.
        """
        chosen: list[tuple[int, int, Bar]] = []
        for bar, seen in sorted(self._seen.items(), key=lambda item: -len(item[1])):
            first, last = seen[0][0], seen[-1][0]
            if _rises([done for _, done in seen]) and not any(a <= last and first <= b for a, b, _ in chosen):
                chosen.append((first, last, bar))
        if not chosen:
            return None
        points = [point for _, _, bar in sorted(chosen) for point in self._seen[bar]]
        at, done = np.array(points).T
        index = np.arange(self._reported + 1, rows, dtype=float)
        index = index[index >= at[0]]
        if rows - at[0] < _COVERED * rows or not len(index):
            return None
        self._reported = rows - 1
        label = chosen[0][2][0].lower()
        name = next((word for word in ("episode", "epoch") if word in label), "step")
        return name, Curve(index=index, values=done[np.searchsorted(at, index, side="right") - 1])


def _rises(counts: list[float]) -> bool:
    steps = np.diff(counts)
    return len(steps) > 0 and bool((steps >= 0).mean() >= _RISES and (steps > 0).mean() >= 0.5)
