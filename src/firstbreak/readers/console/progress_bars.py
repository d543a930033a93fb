"""tqdm: `Train epoch [1/1]:  12%|█▏  | 2/16 [00:30<03:40, 2.5s/it, act_loss=0.1, reward=0.4]`

The step is the number of iterations so far, over all bars of the same label: a bar that starts again goes on counting.
"""

from __future__ import annotations

import re

from firstbreak.readers.console._reading import NOTHING, VALUE, ParsedLine, scaled

_BAR = re.compile(r"[^|]*\|\s*(?P<done>\d+)/\d+ \[(?P<rest>.*)\]")
_PAIR = re.compile(rf"(?P<name>[A-Za-z_][\w/@.-]*)={VALUE}(?=[,\s\]]|$)")
_COUNTERS = re.compile(r"\d+")


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
        label = _COUNTERS.sub("#", before)
        earlier, last = self.done.get(label, (0.0, 0.0))
        done = float(bar["done"])
        if done < last:
            earlier += last
        self.done[label] = (earlier, done)
        return ParsedLine(values, earlier + done)
