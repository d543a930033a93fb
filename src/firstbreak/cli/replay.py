"""firstbreak replay BUNDLE"""

import sys
from pathlib import Path

import click

from firstbreak.cli._output import say, write
from firstbreak.live.guard import bundle
from firstbreak.live.guard.replay import build, replay


@click.command("replay")
@click.argument("folder", metavar="BUNDLE", type=click.Path(path_type=Path))
@click.option(
    "--with",
    "place",
    required=True,
    metavar="MODULE:FUNCTION",
    help="Your function without arguments that builds the training objects: for SB3 the model, for TRL the trainer, for "
    "your own loop (model, optimizer, function from a batch to the loss).",
)
def command(folder: Path, place: str) -> None:
    """Repeat the update of an incident, and compare loss and gradient norm with the recorded values.

    Exit code 0: the values are the same; 1: they differ; 2: the bundle does not hold enough data.
    """
    manifest = bundle.read(folder)
    say(f"{manifest['reason']}\nstep {manifest.get('step', 'unknown')}, {manifest['adapter']}")
    compared = replay(folder, build(place))
    for one in compared:
        write(f"{one.name:28} then {one.then:<14.8g} now {one.now:<14.8g} {'same' if one.equal else 'DIFFERENT'}")
    if not manifest["exact"]:
        say("The state was saved after the update had begun, so the numbers may differ.")
    if not compared or not all(one.equal for one in compared):
        sys.exit(1)
