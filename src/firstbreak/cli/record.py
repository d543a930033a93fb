"""firstbreak record -o FOLDER -- COMMAND"""

import os
from pathlib import Path

import click

from firstbreak.cli._output import BadCall
from firstbreak.live.recorder.start import environment


@click.command("record", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "-o", "--folder", required=True, type=click.Path(file_okay=False, path_type=Path), help="Where the run is written."
)
@click.argument("command_line", metavar="-- COMMAND", nargs=-1, required=True, type=click.UNPROCESSED)
def command(folder: Path, command_line: tuple[str, ...]) -> None:
    """Start a trainer, and measure inside it what must hold: advantages, masks, ratios, gradients, the engine.

    The command runs as it would without this, with its own output and exit code, and so does whatever it starts, in Ray as well.
    What is measured is written into FOLDER, which all its machines must reach; `firstbreak diagnose FOLDER` reads it. The
    trainers that are known are verl, OpenRLHF, AReaL and RLlib (PPO): `firstbreak.recorder()` goes into scripts of others.
    """
    program, *_ = command_line
    try:
        os.execvpe(program, command_line, environment(folder, os.environ))
    except FileNotFoundError:
        raise BadCall(f"{program}: no such command") from None
