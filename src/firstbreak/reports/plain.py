"""The layout of a report without colours: as much of rich as a report in a pipe or a file needs, whose import takes as long as
half of numpy's.

A character takes one column here, and what stands beside a text leaves it half of the width: `Unfit` says where that is not so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise, zip_longest
from typing import Any, Protocol

_ONE_COLUMN = re.compile("[\n -~\xa1-\xac\xae-\u02ff\u2010-\u2027\u2190-\u22ff\u2500-\u25fc\u2713\u2717]*")
_WORD = re.compile(r"\s*\S+\s*")


class Unfit(Exception):
    """What has to be laid out by rich."""


class Part(Protocol):
    """Something that is drawn."""

    def lines(self, width: int) -> Iterable[str]:
        """Its lines, of at most `width` columns."""


class Text:
    """A text, whose styles are left out. Raises Unfit."""

    def __init__(self, plain: str = "", style: str = "", *, no_wrap: bool = False, overflow: str = "fold") -> None:
        if not _ONE_COLUMN.fullmatch(plain):
            raise Unfit(plain)
        self.plain, self.no_wrap, self.cell_len = plain, no_wrap, max(map(len, plain.split("\n")))

    @classmethod
    def assemble(cls, *parts: Any, overflow: str = "fold") -> Text:
        """The parts behind each other: texts, strings, and strings with a style."""
        return cls("".join(p.plain if isinstance(p, Text) else p if isinstance(p, str) else p[0] for p in parts))

    def join(self, parts: Iterable[Text]) -> Text:
        """The parts with this text between them."""
        return Text(self.plain.join(part.plain for part in parts))

    def stylize(self, *style: Any) -> None:
        """Nothing: there are no styles."""

    highlight_regex = stylize

    def lines(self, width: int) -> Iterable[str]:
        lines = self.plain.split("\n")
        return lines if self.no_wrap else chain.from_iterable(_wrapped(line, width) for line in lines)


class Table:
    """Columns beside each other; the last one takes what is left. Raises Unfit."""

    def __init__(self, apart: int) -> None:
        self.apart, self.right, self.rows = apart, list[bool](), list[Sequence[Text]]()

    @classmethod
    def grid(cls, padding: tuple[int, int]) -> Table:
        """A table without lines, with so many blanks between columns."""
        return cls(padding[1])

    def add_column(self, justify: str = "left", **_: Any) -> None:
        self.right.append(justify == "right")

    def add_row(self, *cells: Text) -> None:
        self.rows.append(cells)

    def lines(self, width: int) -> Iterator[str]:
        widths = [max((row[i].cell_len for row in self.rows), default=0) for i in range(len(self.right) - 1)]
        left = width - sum(widths) - self.apart * len(widths)
        if left < width // 2:
            raise Unfit(widths)
        for row in self.rows:
            for line in zip_longest(*(c.lines(w) for c, w in zip(row, (*widths, left), strict=True)), fillvalue=""):
                cells = (
                    t.rjust(w) if r else t.ljust(w) for t, w, r in zip(line, (*widths, 0), self.right, strict=True)
                )
                yield (" " * self.apart).join(cells)


class Group:
    """Parts under each other."""

    def __init__(self, *parts: Part) -> None:
        self.parts = parts

    def lines(self, width: int) -> Iterator[str]:
        return (line for part in self.parts for line in part.lines(width))


class Padding:
    """A part that is moved to the right."""

    def __init__(self, part: Part, around: tuple[int, int, int, int]) -> None:
        self.part, self.left = part, around[3]

    def lines(self, width: int) -> Iterator[str]:
        return (" " * self.left + line for line in self.part.lines(width - self.left))


def Constrain(part: Part, width: int) -> Part:
    """The part: what is narrower than a page in colours is as wide as the page here."""
    return part


def _wrapped(text: str, width: int) -> Iterator[str]:
    """The lines of a text, broken where rich breaks them: before a word that does not fit, and in a word longer than a line."""
    breaks, column = [0], 0
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        size = len(word.rstrip())
        if size <= width - column:
            column += len(word)
        elif size > width:
            breaks += (place for place in range(start, start + len(word), width) if place)
            column = (len(word) - 1) % width + 1
        elif column and start:
            breaks.append(start)
            column = len(word)
    return (text[a:b][:width] for a, b in pairwise((*breaks, len(text))))
