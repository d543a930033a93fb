"""firstbreak record -o FOLDER -- COMMAND"""

from __future__ import annotations

import os
from pathlib import Path

import click

from firstbreak.cli._output import BadCall
from firstbreak.inside.start import environment


@click.command("record", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--folder",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The run's folder, which is written.",
)
@click.argument("command_line", metavar="-- COMMAND", nargs=-1, required=True, type=click.UNPROCESSED)
def command(folder: Path, command_line: tuple[str, ...]) -> None:
    """Start a trainer whose script is not yours (verl, OpenRLHF, AReaL), and measure inside it what must hold.

    The command runs as it would without this, with its own output and exit code. What is proved stands in FOLDER; `firstbreak
    diagnose FOLDER` reads it.
    """
    program, *_ = command_line
    try:
        os.execvpe(program, command_line, environment(folder, os.environ))
    except FileNotFoundError:
        raise BadCall(f"{program}: no such command") from None
