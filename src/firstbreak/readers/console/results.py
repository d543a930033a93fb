"""The result that Ray Tune prints after each iteration, as nested names and values; lists and texts are left out.

Result for DQN_shogi_96499_00000:
  info:
    learner:
      cur_lr: 0.0005                      info/learner/cur_lr, as in its result.json
"""

import re

from firstbreak.readers._literal import number
from firstbreak.readers.console._reading import NOTHING, LineKind, ParsedLine

_TITLE = "Result for "
_CELL = re.compile(r"(?P<indent> {2,60})(?P<name>[A-Za-z_][^:]{0,80}):(?: (?P<value>.{1,60}))?")


class Results:
    """The result that is open, and where in it the last line was."""

    def __init__(self) -> None:
        self.open = False
        self.above: list[tuple[int, str]] = []  #: indent and name of each group around the line

    def read(self, line: str) -> ParsedLine | None:
        """One value of the result; nothing of its other lines."""
        if line.startswith(_TITLE) and line.rstrip().endswith(":"):
            self.open, self.above = True, []
            return ParsedLine(kind=LineKind.BREAK)
        if not self.open:
            return None
        if not line.startswith("  "):
            self.open = False
            return None
        if (cell := _CELL.fullmatch(line)) is None:
            return NOTHING
        indent, value = len(cell["indent"]), number((cell["value"] or "").strip().replace(".nan", "nan"))
        self.above = [group for group in self.above if group[0] < indent]
        if cell["value"] is None:
            self.above.append((indent, cell["name"]))
        name = "/".join([group for _, group in self.above] + [cell["name"]])
        return NOTHING if value is None else ParsedLine({name: value}, kind=LineKind.FRAGMENT)
