"""firstbreak watch PATH"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import click

from firstbreak.cli._output import on_a_terminal, write
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.follow import Follower
from firstbreak.model import Diagnosis
from firstbreak.readers import Unreadable


@click.command("watch")
@click.argument("path")
@click.option(
    "--every", type=click.FloatRange(min=0.1), default=5.0, show_default=True, help="Seconds between two looks."
)
@click.option("--for", "limit", type=float, metavar="SECONDS", help="Stop watching after so many seconds.")
@click.option("--trainer", metavar="NAME", help="The trainer, where the automatic choice is wrong.")
def command(path: str, every: float, limit: float | None, trainer: str | None) -> None:
    """Follow a live run: read what its trainer appends, and show the diagnosis whenever something is new.

    On a terminal the report stays in place; into a pipe each new verdict is one line. Ends with Ctrl-C or after --for.
    """
    follower = Follower(path, trainer=trainer)
    end = None if limit is None else time.monotonic() + limit
    try:
        if on_a_terminal():
            _on_screen(follower, every, end)
        else:
            _as_lines(follower, every, end)
    except KeyboardInterrupt:
        sys.exit(0)


def _looks(follower: Follower, every: float, end: float | None) -> Iterator[Diagnosis]:
    """A diagnosis after each look that found something new."""
    while True:
        if follower.update():
            try:
                yield diagnose(follower.run())
            except Unreadable as error:  # nothing readable yet: the trainer has only begun to write
                click.echo(f"waiting: {error}", err=True)
        if end is not None and time.monotonic() + every > end:
            return
        time.sleep(every)


def _on_screen(follower: Follower, every: float, end: float | None) -> None:
    from rich.live import Live

    from firstbreak.reports import terminal

    with Live(f"waiting for {follower.path}", auto_refresh=False, vertical_overflow="ellipsis") as live:
        for dx in _looks(follower, every, end):
            live.update(terminal.renderable(dx), refresh=True)


def _as_lines(follower: Follower, every: float, end: float | None) -> None:
    told = ""
    for dx in _looks(follower, every, end):
        line = f"{dx.verdict.action.value}: {dx.verdict.summary}"
        if line != told:
            step = "?" if dx.run.last_step is None else f"{dx.run.last_step:.0f}"
            write(f"step {step}  {line}")
            told = line
