"""Output: to a terminal with its width and colours, or plain UTF-8 to a pipe or a file."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstbreak import written
from firstbreak.readers._tail import reached
from firstbreak.reports.text import visible
from firstbreak.words import percent

if TYPE_CHECKING:
    from firstbreak.reports.terminal_style import Page

PATIENCE = 2.0  #: seconds before a wait is shown
#: is processed first, so that its suffix can choose the format
to_file = click.option(
    *("-o", "--output"),
    type=click.Path(dir_okay=False, path_type=Path),
    is_eager=True,
    help="Write to this file, not to stdout; .html, .md, .json, .xml and .sarif choose the format.",
)
OF_SUFFIX = {".html": "html", ".htm": "html", ".md": "markdown", ".json": "json", ".xml": "junit", ".sarif": "sarif"}

whole = click.option("--full", is_flag=True, help="The whole report on the terminal, not one screen.")


def formats(*names: str, help: str = "Format of the report.") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option --format; without it the suffix of --output says which, else it is the first of the names."""

    def chosen(context: click.Context, _: click.Parameter, given: str | None) -> str:
        output = context.params.get("output")
        told = None if output is None else OF_SUFFIX.get(output.suffix.lower())
        return given or (told if told in names else names[0])

    return click.option("--format", "format_", type=click.Choice(names), callback=chosen, help=help)


class BadCall(click.ClickException):
    """A wrong call that the user can correct: one line on stderr."""

    exit_code = 2


def complain(problem: object) -> None:
    """One line on stderr. Control characters are made visible, because a path may contain any character."""
    click.echo(f"firstbreak: {visible(str(problem))}", err=True)


def on_a_terminal() -> bool:
    """Whether the output is a terminal, with a width and colours."""
    return sys.stdout.isatty()


def put(pages: Sequence[Page], output: Path | None = None) -> None:
    """Pages of a report, as wide as the terminal or as COLUMNS says.

    In colours on a terminal and where FORCE_COLOR asks for them, but not with NO_COLOR; plain into a pipe or a file.
    """
    if output is not None or not (on_a_terminal() or os.environ.get("FORCE_COLOR")):
        width = shutil.get_terminal_size().columns
        write("\n\n".join(page.string(width) for page in pages), output)
        return
    from rich.console import Console

    console = Console(highlight=False)
    for i, page in enumerate(pages):
        if i:
            console.print()
        console.print(page)


@contextmanager
def bar(what: str, total: int | None = None, *, every: int = 0) -> Iterator[Callable[..., None]]:
    """Progress on stderr: yields `advance(done, total=None, note="")`; `done` may be a fraction.

    A terminal shows a bar with the time that is left, and nothing once it is done. Elsewhere a line is written for each
    `every` and for the last.
    """
    if not sys.stderr.isatty():

        def tell(done: float, total: int | None = total, note: str = "") -> None:
            if every and (done % every == 0 or done == total):
                say(f"[{done}/{total}] {note}".strip())

        yield tell
        return
    from rich import progress as bars
    from rich.console import Console

    done = (bars.TextColumn(what), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn())
    left = (bars.TextColumn("{task.fields[left]}"), bars.TimeRemainingColumn(), bars.TextColumn("{task.fields[note]}"))
    with bars.Progress(*done, *left, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total, note="", left="")

        def advance(done: float, total: int | None = None, note: str = "") -> None:
            progress.update(task, completed=done, total=total, note=_shown(note), left="left")

        yield advance


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """On a terminal, once it takes longer than `PATIENCE`, the seconds so far and how much of a file is read; nothing once it
    is done."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    shown = threading.Thread(target=_seconds, args=(_shown(what), done), daemon=True)
    shown.start()
    try:
        yield
    finally:
        done.set()
        shown.join()


def _seconds(what: str, done: threading.Event) -> None:
    if done.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what)
        progress.tasks[0].start_time = progress.get_time() - PATIENCE
        while not done.wait(0.2):
            progress.update(task, description=what + how_far(reached()))


def how_far(bytes_read: tuple[int, int] | None) -> str:
    """': 42 % of 103 MB'; nothing where no file is being read."""
    at, size = bytes_read or (0, 0)
    return f": {percent(at / size)} of {size / 1e6:.0f} MB" if size else ""


def say(text: object) -> None:
    """Lines on stderr."""
    click.echo(_shown(str(text)), err=True)


def _shown(text: str) -> str:
    """Lines for a terminal: what a log says may neither move the cursor nor reorder a line."""
    return "\n".join(map(visible, text.split("\n")))


def write(text: str, output: Path | None = None) -> None:
    """Write the text with a final newline, in UTF-8 for any locale, because reports contain more than ASCII.

    On stdout, hidden characters are made visible.
    """
    text = _shown(text) if output is None else text
    data = (text.rstrip("\n") + "\n" * bool(text or output is None)).encode("utf-8", errors="backslashreplace")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        _spare(output)
        written.write(output, data)


def _spare(output: Path) -> None:
    """Raises BadCall where the output would take the place of what was read."""
    call = click.get_current_context(silent=True)
    given = [value for value in call.params.values() if value is not output] if call else []
    named = (part for value in given for part in (value if isinstance(value, tuple) else (value,)))
    places = (
        place for part in named if isinstance(part, (str, Path)) for place in (part, str(part).rpartition(":")[0])
    )
    read = [Path(place) for place in places if os.path.exists(place)]  # code is named as FILE:FUNCTION
    if not output.is_file() or not read:
        return
    from firstbreak.readers import read as run

    real = output.resolve()
    held = any(real.is_relative_to(path.resolve()) for path in read)
    log = held and run.may_hold_a_score(real) and any(run.claimed(real))
    if log or any(output.samefile(path) for path in read):
        raise BadCall(f"{output}: is read here; give another file for the output")
