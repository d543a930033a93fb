"""Jupyter notebooks: the progress table that the HF Trainer draws, else whatever the cells printed.

Several trainings in one notebook (a fine-tuning first, then the RL run) draw several tables; the largest one with
rewards is the run, else the one with the most numbers, and the others are mentioned. What was printed comes before a table
that counts no steps (a DataFrame, the summary that wandb draws), and before one without a reward where rewards were printed.
Source: transformers/utils/notebook.py
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import COUNTERS, Columns
from firstbreak.readers._json import loads
from firstbreak.readers._literal import number
from firstbreak.readers.console import Console
from firstbreak.readers.opening import read_whole

DESCRIPTION = "Jupyter notebooks: progress tables and printed logs in the outputs"
FILES = ("*.ipynb",)
PRIORITY = 10
MAX_BYTES = 1 << 29
MIN_POINTS = 3  #: fewer printed numbers are a remark beside a table

Table = list[list[str]]


def sniff(path: Path, head: bytes) -> bool:
    """A JSON object in a .ipynb file."""
    return path.suffix.lower() == ".ipynb" and head.lstrip()[:1] in (b"{", b"")


def read(path: Path, resume: Any = None) -> Recording:
    """The run that the notebook shows, whole each time: Jupyter rewrites the file."""
    data = read_whole(path, MAX_BYTES)
    try:
        notebook = loads(data)
    except ValueError:
        raise Unreadable(path, "is no whole notebook", "save it again in Jupyter") from None
    outputs = list(_outputs(notebook))
    tables = [table for html in _texts(outputs, "text/html") for table in _tables(html)]
    tables.sort(key=lambda table: (_of_rewards(table) and _size(table) > 0, _size(table)), reverse=True)
    printed = _printed(outputs)
    if tables and _size(tables[0]) and not _says_more(printed, tables[0]):
        recording = _from_table(tables[0])
        others = sum(_size(table) > 0 for table in tables[1:])
        if others:
            size = "other" if any(_size(table) > _size(tables[0]) for table in tables) else "smaller"
            recording.notes.append(f"{others} {size} tables of numbers left out")
    else:
        recording = printed
    recording.format = "notebook"
    return recording


def _printed(outputs: list[dict[str, Any]]) -> Recording:
    console = Console()
    for text in _texts(outputs, "text/plain"):
        console.feed(text + "\n")
    return console.recording()


def _says_more(printed: Recording, table: Table) -> bool:
    """Whether the run is in what was printed instead of in this table."""
    rewards = max((len(curve.values) for name, curve in printed.curves.items() if "reward" in name.lower()), default=0)
    if COUNTERS.isdisjoint(_header(table)):
        return any(len(curve.values) >= MIN_POINTS for curve in printed.curves.values())
    return not _of_rewards(table) and rewards >= max(len(table) - 1, MIN_POINTS)


def _outputs(notebook: Any) -> Iterator[dict[str, Any]]:
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells if isinstance(cells, list) else []:
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        yield from (output for output in outputs or [] if isinstance(output, dict)) if isinstance(outputs, list) else ()


def _texts(outputs: list[dict[str, Any]], mime: str) -> Iterator[str]:
    """The texts of one kind; printed text counts as plain."""
    for output in outputs:
        data = output.get("data")
        text = data.get(mime) if isinstance(data, dict) else output.get("text") if mime == "text/plain" else None
        if isinstance(text, list):
            text = "".join(part for part in text if isinstance(part, str))
        if isinstance(text, str):
            yield text


def _of_rewards(table: Table) -> bool:
    """Whether a progress table holds a reward: that of the RL run, not of a fine-tuning before it."""
    names = _header(table)
    return not COUNTERS.isdisjoint(names) and any("reward" in name for name in names)


def _header(table: Table) -> list[str]:
    return [name.strip().lower() for name in table[0]]


def _size(table: Table) -> int:
    """How many numbers a table holds below its header."""
    return sum(number(cell) is not None for row in table[1:] for cell in row)


def _from_table(table: Table) -> Recording:
    columns = Columns()
    for row, cells in enumerate(table[1:]):
        for name, cell in zip(table[0], cells, strict=False):
            value = number(cell)
            if value is not None:
                columns.add(name, row, value)
            elif cell == "No log":  # the Trainer's word for an evaluation before the first training log
                continue
            elif cell in ("None", "null"):
                columns.add_nulls(name, [row])
            elif cell:
                columns.add_text(name, cell)
    return columns.recording("notebook")


def _tables(html: str) -> list[Table]:
    """The tables that have a header of words."""
    parser = _TableParser()
    parser.feed(html)
    parser.close()
    return [table for table in parser.tables if len(table) > 1 and any(number(name) is None for name in table[0])]


class _TableParser(HTMLParser):
    """The cells of every table, as text."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("table", "tr"):
            self.in_cell = False
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables:
            if not self.tables[-1]:
                self.tables[-1].append([])
            self.tables[-1][-1].append("")
            self.in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self.in_cell = False

    def handle_data(self, data: str) -> None:
        if self.in_cell:
            self.tables[-1][-1][-1] += data.strip()
