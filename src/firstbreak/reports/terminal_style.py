"""The style of reports on a terminal: characters, colours, and shared layout elements."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from firstbreak.model import Action, LinkStatus, Severity
from firstbreak.reports import sparkline
from firstbreak.reports.content import ReportLine
from firstbreak.reports.text import to_ascii, visible
from firstbreak.values import dataclass

WIDEST = 100  # columns of text: longer lines are hard to read
WIDEST_DRAWING = 160  # columns of a curve, and of two parts beside each other
APART = 3  # columns between two parts beside each other


@dataclass(frozen=True)
class Frame:
    """The lines of a box: corners from top left clockwise, horizontal, vertical."""

    corners: tuple[str, str, str, str]
    horizontal: str
    vertical: str


@dataclass(frozen=True)
class TerminalStyle:
    """The widths, characters and symbols of a report."""

    width: int  # of text
    screen: int  # of drawings
    unicode: bool
    ink: sparkline.Ink
    symbol: dict[LinkStatus | Severity | Action, str]
    frame: dict[LinkStatus, Frame]
    arrows: tuple[str, str, str, str]  # right, down, left, up
    bar: tuple[str, str]  # full, empty
    inks: str  # of the parts of a stacked bar
    room: str  # what is left of a stacked bar
    bullets: str

    def text(self, text: str, style: str = "") -> Text:
        """`text` for display: control characters are made visible, and markup is not interpreted."""
        shown = visible(text)
        return Text(shown if self.unicode else to_ascii(shown), style=style, overflow="fold")

    def heading(self, text: str) -> Text:
        """The heading of a section."""
        return self.text(text, "bold underline")

    def section(self, text: str) -> Iterator[Text]:
        """An empty line, and the heading of a section."""
        yield Text()
        yield self.heading(text)

    def table(self, lines: Sequence[ReportLine]) -> RenderableType:
        """Labels and texts in two columns."""
        labels = [self.text(line.label) for line in lines]
        widest = max((label.cell_len for label in labels), default=0)
        table = Table.grid(padding=(0, 2))
        table.add_column(min_width=min(widest, self.width // 2), overflow="fold", style="dim")
        table.add_column(overflow="fold")
        for label, line in zip(labels, lines, strict=True):
            table.add_row(label, self.text(line.text, "cyan" if line.literal else ""))
        return table

    def bullet(self, text: str) -> RenderableType:
        """One item of a list."""
        return self.hanging(Text(self.bullets), self.text(text))

    def hanging(self, mark: Text, text: Text) -> RenderableType:
        """`text` beside `mark`, with further lines under the first one."""
        table = Table.grid(padding=(0, 1))
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        table.add_row(mark, text)
        return table

    def indented(self, what: RenderableType) -> RenderableType:
        """Indent by two columns."""
        return Padding(what, (0, 0, 0, 2))

    def wide(self, what: RenderableType) -> RenderableType:
        """A drawing, which may be wider than text."""
        return Constrain(what, self.screen)

    def side_by_side(self, left: RenderableType, right: RenderableType, left_width: int) -> RenderableType:
        """Two parts beside each other: the left one takes `left_width` columns, the right one what is left."""
        table = Table.grid(padding=(0, APART))
        table.add_column(width=left_width)
        table.add_column(width=self.screen - left_width - APART)
        table.add_row(left, right)
        return self.wide(table)

    def lines(self, lines: Iterable[str], style: str = "") -> Text:
        """Drawn lines, which must not wrap."""
        return Text("\n".join(lines), style=style, no_wrap=True, overflow="crop")


_THIN, _HEAVY = Frame(("╭", "╮", "╯", "╰"), "─", "│"), Frame(("┏", "┓", "┛", "┗"), "━", "┃")
_DASHED, _NONE = Frame(("┌", "┐", "┘", "└"), "╌", "╎"), Frame((" ", " ", " ", " "), " ", " ")
_PLAIN = Frame(("+", "+", "+", "+"), "-", "|")
#: status -> its frame in Unicode and in ASCII
_FRAMES = {
    LinkStatus.OK: (_THIN, _PLAIN),
    LinkStatus.BROKEN: (_HEAVY, Frame(("#", "#", "#", "#"), "#", "#")),
    LinkStatus.SUSPECT: (_THIN, _PLAIN),
    LinkStatus.NOT_MEASURED: (_DASHED, Frame((".", ".", ".", "."), ".", ":")),
    LinkStatus.NOT_APPLICABLE: (_NONE, _NONE),
}
#: what is marked -> its symbol in Unicode and in ASCII, and its style
_MARKS: dict[LinkStatus | Severity | Action, tuple[str, str, str]] = {
    LinkStatus.OK: ("✓", "+", "green"),
    LinkStatus.BROKEN: ("✗", "X", "bold red"),
    LinkStatus.SUSPECT: ("!", "!", "yellow"),
    LinkStatus.NOT_MEASURED: ("?", "?", "dim"),
    LinkStatus.NOT_APPLICABLE: ("–", "-", "dim"),
    Severity.CRITICAL: ("●", "[!]", "bold red"),
    Severity.WARNING: ("◐", "[*]", "bold yellow"),
    Severity.NOTICE: ("○", "[.]", "bold cyan"),
    Action.CONTINUE: ("✓", ">", "bold green"),
    Action.WATCH: ("◔", "?", "bold yellow"),
    Action.STOP: ("■", "X", "bold red"),
    Action.ROLLBACK: ("↶", "<", "bold red"),
}
STYLE = {what: style for what, (_, _, style) in _MARKS.items()}
_UNICODE_SYMBOLS, _ASCII_SYMBOLS = ({what: mark[i] for what, mark in _MARKS.items()} for i in (0, 1))
_UNICODE_FRAMES, _ASCII_FRAMES = ({status: both[i] for status, both in _FRAMES.items()} for i in (0, 1))
#: ink, symbols, frames, arrows, bar, inks, room and bullets of a style
_UNICODE = (sparkline.BLOCKS, _UNICODE_SYMBOLS, _UNICODE_FRAMES, ("→", "↓", "←", "↑"), ("█", "░"), "█▒▌░▄▓▚▖", "·", "•")
_ASCII = (sparkline.ASCII, _ASCII_SYMBOLS, _ASCII_FRAMES, (">", "v", "<", "^"), ("#", "."), "#=+%o*x@", ".", "-")


def terminal_style(width: int, unicode: bool = True) -> TerminalStyle:
    """The style for a terminal of `width` columns."""
    return TerminalStyle(min(width, WIDEST), min(width, WIDEST_DRAWING), unicode, *(_UNICODE if unicode else _ASCII))


@dataclass(frozen=True)
class Page:
    """A renderable for `rich.print`. The parts get width and characters from the console."""

    parts: Callable[[TerminalStyle], Iterator[RenderableType]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        how = terminal_style(options.max_width, unicode=not options.ascii_only)
        yield Group(*(part if isinstance(part, Constrain) else Constrain(part, how.width) for part in self.parts(how)))

    def string(self, width: int = 80, color: bool = False, encoding: str = "utf-8") -> str:
        """As a string, with ANSI colours where `color` is true and NO_COLOR is not set."""
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n", write_through=True)
        console = Console(
            file=stream,
            width=width,
            force_terminal=color,
            color_system="standard" if color else None,
            legacy_windows=False,
            highlight=False,
        )
        console.print(self)
        stream.seek(0)
        return "\n".join(line.rstrip() for line in stream.read().split("\n")).rstrip()
