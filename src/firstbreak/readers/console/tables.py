"""Tables drawn with lines: a name and its value side by side, once or several times in a row.

    | rollout/           |      |     Stable-Baselines3: a section, then its indented names
    |    ep_rew_mean     | 21.3 |
    │ loss/avg │ 1.0e-02 │ kl/avg │ 2.0e-03 │                 AReaL
    │ reward/mean │ 0.123456 │                                tinker
    │ objective │ verifiable_reward: 0.41 | kl2_avg: 0.00 │   open-instruct: a prefix, then its pairs
    | Step | Loss |  and  | 10 | 0.5 |                        a header, then rows of numbers
    Step | Loss   and   -- | --   and   10 | 0.5              the same, copied from a notebook into an issue
    steps   mean    and   10000   119.2                       the same between spaces: ChainerRL, a printed DataFrame
    trainer/QF1 Loss      1.3e+19                             rlkit, garage: a name and its value between spaces

The lower border of a table ends its row.
"""

import re

from firstbreak.readers._columns import COUNTERS, counter, says_reward
from firstbreak.readers._literal import number
from firstbreak.readers.console._reading import NOTHING, VALUE, LineKind, ParsedLine, scaled

_LINES = "|│┃║"
_SPLIT = re.compile(f"[{_LINES}]")
_BORDER = re.compile(r"[\s|+=\-\u2500-\u257f]{5,}")
_CLOSING = frozenset("└╰╘┗╚")
_NAME = re.compile(r"(?:% )?[A-Za-z_][\w./@() %+-]*")
_PAIR = re.compile(r"([A-Za-z_][\w./@ -]*): (\S+)")
_COUNTED = re.compile(r"([A-Za-z_]+) #?(\d+)(?:/\d+)?")  #: `Episode 267` between them
_DEVIATION = re.compile(r"(?<=\d) ?(?:\+/?-|±) ?[\d.]+$")
_GAP = re.compile(r"\s{2,}|\t")
_ALIGNED = re.compile(
    rf"\s*(?P<name>[A-Za-z_][\w/%-]*(?: [A-Za-z(][\w/()%-]*){{0,4}})(?: ?\t\s*|\s{{2,}}){VALUE}(?: sec(?:ond)?s)?\s*"
)
#: what rlkit, garage and their like put before the names of a table
_PANEL = re.compile(r"(?:train|explor|eval|replay_?buffer|rollout|policy|loss|time|sampl|algo)\w*/", re.IGNORECASE)


class Tables:
    """Rows of tables; it remembers the section and the header."""

    def __init__(self) -> None:
        self.section = ""
        self.header: list[str] = []
        self.above: list[str] = []  #: the header of columns between spaces
        self.between: list[str] = []  #: that of columns between spaces, with bars between groups of them
        self.ruled = False  #: a line of dashes was printed

    def read(self, line: str) -> ParsedLine | None:
        """A fragment of the table, or a break at its lower border."""
        if _BORDER.fullmatch(line):
            return self._border(line)
        start = line.lstrip()[:1]
        if not start or start not in _LINES:
            return self._grouped(line) or self._open_row(line) if " |" in line else self._aligned(line)
        raw = _SPLIT.split(line.strip()[1:].rstrip(_LINES))
        cells = [cell.strip() for cell in raw]
        numbers = [number(cell) for cell in cells]
        if len(cells) == 2 and cells[0].endswith("/") and not cells[1]:
            self.section = cells[0]
            return NOTHING
        if len(self.header) == len(cells) > 1 and None not in numbers:
            return ParsedLine({n: v for n, v in zip(self.header, numbers, strict=True) if v is not None})
        if not any(value is not None for value in numbers) and all(map(_NAME.fullmatch, cells)):
            self.header = [*map(counter, cells)]
            return NOTHING
        values = _pairs_in_cells(cells) or _side_by_side(cells, numbers)
        if self.section and raw[0].startswith("    "):
            values = {self.section + name: value for name, value in values.items()}
        return ParsedLine(values, kind=LineKind.FRAGMENT) if values else None

    def _grouped(self, line: str) -> ParsedLine | None:
        """A row or the header of columns in groups, as ElegantRL prints them; one that ends after its first group is left out."""
        words = line.replace("|", " ").split()
        if all(map(_NAME.fullmatch, words)):
            grouped = any(_GAP.search(cell.strip()) for cell in line.split("|"))
            counts = not COUNTERS.isdisjoint(word.lower() for word in words)
            self.between = words if grouped and counts else []
            return NOTHING if self.between else None
        numbers = [number(word) for word in words]
        if not self.between or None in numbers:
            return None
        if len(numbers) < len(self.between):
            return NOTHING
        return ParsedLine({n: v for n, v in zip(self.between, numbers, strict=False) if v is not None and n != "etc."})

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

    def _aligned(self, line: str) -> ParsedLine | None:
        """A name and its value, or a row below a header that counts something; an index without a name is the step."""
        above, self.above = self.above, []
        if pair := _ALIGNED.fullmatch(line):
            weak, value = not _PANEL.match(pair["name"]), {pair["name"]: scaled(pair)}
            return None if weak and not self.ruled else ParsedLine(value, kind=LineKind.FRAGMENT, weak=weak)
        numbers = [number(cell) for cell in line.split()]
        if numbers and None not in numbers:
            numbers = numbers[len(numbers) - len(above) == 1 :]  # the index of a DataFrame beside a counter
            self.above = above if len(above) == len(numbers) else []
            row = {n: v for n, v in zip(self.above, numbers, strict=False) if v is not None}
            return ParsedLine(row) if row else None
        cells = _GAP.split(line.strip()) if _GAP.search(line.strip()) else line.split()
        if len(cells) > 1 and all(map(_NAME.fullmatch, cells)):
            counts = not COUNTERS.isdisjoint(cell.lower() for cell in cells)
            indexed = not counts and line[:1] == " " and any(map(says_reward, cells))
            self.above = cells if counts else ["step", *cells] if indexed else []
        return None

    def _border(self, line: str) -> ParsedLine:
        text = line.strip()
        self.ruled = self.ruled or set(text) <= {"-", " "}
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
        cell = _DEVIATION.sub("", cell)
        found = _PAIR.fullmatch(cell)
        value = number(found[2]) if found else None
        if found and value is not None:
            values[prefix + found[1]] = value
        elif (found := _COUNTED.fullmatch(cell)) and found[1].lower() in COUNTERS:
            values[found[1].lower()] = float(found[2])
    return values
