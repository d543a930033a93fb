"""Tables drawn with lines: a name and its value side by side, once or several times in a row.

    | rollout/           |      |     Stable-Baselines3: a section, then its indented names
    |    ep_rew_mean     | 21.3 |
    │ loss/avg │ 1.0e-02 │ kl/avg │ 2.0e-03 │                 AReaL
    │ reward/mean │ 0.123456 │                                tinker
    │ objective │ verifiable_reward: 0.41 | kl2_avg: 0.00 │   open-instruct: a prefix, then its pairs
    | Step | Loss |  and  | 10 | 0.5 |                        a header, then rows of numbers
    Step | Loss   and   -- | --   and   10 | 0.5              the same, copied from a notebook into an issue

The lower border of a table ends its row.
"""

import re

from firstbreak.readers._literal import number
from firstbreak.readers.console._reading import NOTHING, LineKind, ParsedLine

_LINES = "|│┃║"
_SPLIT = re.compile(f"[{_LINES}]")
_BORDER = re.compile(r"[\s|+=\-\u2500-\u257f]{5,}")
_CLOSING = frozenset("└╰╘┗╚")
_NAME = re.compile(r"[A-Za-z_][\w./@() +-]*")
_PAIR = re.compile(r"([A-Za-z_][\w./@ -]*): (\S+)")


class Tables:
    """Rows of tables; it remembers the section and the header."""

    def __init__(self) -> None:
        self.section = ""
        self.header: list[str] = []

    def read(self, line: str) -> ParsedLine | None:
        """A fragment of the table, or a break at its lower border."""
        if _BORDER.fullmatch(line):
            return self._border(line)
        start = line.lstrip()[:1]
        if not start or start not in _LINES:
            return self._open_row(line) if " | " in line else None
        raw = _SPLIT.split(line.strip()[1:].rstrip(_LINES))
        cells = [cell.strip() for cell in raw]
        numbers = [number(cell) for cell in cells]
        if len(cells) == 2 and cells[0].endswith("/") and not cells[1]:
            self.section = cells[0]
            return NOTHING
        if len(self.header) == len(cells) > 1 and None not in numbers:
            return ParsedLine({n: v for n, v in zip(self.header, numbers, strict=True) if v is not None})
        if not any(value is not None for value in numbers) and all(map(_NAME.fullmatch, cells)):
            self.header = cells
            return NOTHING
        values = _pairs_in_cells(cells) or _side_by_side(cells, numbers)
        if self.section and raw[0].startswith("    "):
            values = {self.section + name: value for name, value in values.items()}
        return ParsedLine(values, kind=LineKind.FRAGMENT) if values else None

    def _open_row(self, line: str) -> ParsedLine | None:
        """A row or the header of a table without lines at its sides; the Trainer's "No Log" is an empty cell."""
        cells = [cell.strip() for cell in line.split("|")]
        numbers = [number(cell) for cell in cells]
        if all(map(_NAME.fullmatch, cells)):
            if sum(number(cell.split()[-1]) is not None for cell in cells) > len(cells) / 2:
                return None  # `step 12 | loss 0.4`, `Episode 12/700 | loss 0.4 | q 0.1`: names with their numbers
            self.header = cells
            return NOTHING
        if len(cells) != len(self.header) or any(
            value is None and cell.lower() != "no log" for cell, value in zip(cells, numbers, strict=True)
        ):
            return None
        return ParsedLine({n: v for n, v in zip(self.header, numbers, strict=True) if v is not None})

    def _border(self, line: str) -> ParsedLine:
        text = line.strip()
        closes = text[:1] in _CLOSING or set(text) <= {"-"}
        if closes:
            self.section, self.header = "", []
        return ParsedLine(kind=LineKind.BREAK) if closes else NOTHING


def _side_by_side(cells: list[str], numbers: list[float | None]) -> dict[str, float]:
    """name, value, name, value, ..."""
    beside = zip(cells, numbers, numbers[1:], strict=False)
    return {n: v for n, before, v in beside if before is None and v is not None and _NAME.fullmatch(n)}


def _pairs_in_cells(cells: list[str]) -> dict[str, float]:
    """prefix, `name: value`, `name: value`, ...; the prefix "other" stands for none."""
    prefix = "" if cells[0] == "other" or ":" in cells[0] else f"{cells[0]}/"
    values = {}
    for cell in cells:
        found = _PAIR.fullmatch(cell)
        value = number(found[2]) if found else None
        if found and value is not None:
            values[prefix + found[1]] = value
    return values
