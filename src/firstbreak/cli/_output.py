"""Where results go: a terminal as wide as it is, or plain UTF-8 bytes into a pipe or a file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click


def complain(problem: object) -> None:
    """One line on stderr, control characters made visible: a path may hold anything."""
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in str(problem))
    click.echo(f"firstbreak: {line}", err=True)


def on_a_terminal() -> bool:
    """Whether a person reads along, so that width and colours of the terminal count."""
    return sys.stdout.isatty()


def show(renderables: Sequence[Any]) -> None:
    """Print rich renderables in the width and colours of the terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    for i, renderable in enumerate(renderables):
        if i:
            console.print()
        console.print(renderable)


def write(text: str, output: Path | None = None) -> None:
    """The text with a final newline, in UTF-8 whatever the locale: reports hold more than ASCII."""
    data = (text.rstrip("\n") + "\n").encode("utf-8", errors="backslashreplace")
    if output is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        output.write_bytes(data)
