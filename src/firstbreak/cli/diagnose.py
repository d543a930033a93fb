"""firstbreak diagnose PATH..."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from firstbreak.cli._output import on_a_terminal, show, write
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.read import find_runs, read
from firstbreak.model import Action, Diagnosis

FORMATS = ("terminal", "json", "html", "markdown")
FAILS = {
    "stop": frozenset({Action.STOP, Action.ROLLBACK}),
    "watch": frozenset({Action.WATCH, Action.STOP, Action.ROLLBACK}),
    "never": frozenset[Action](),
}


@click.command("diagnose")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="terminal", help="How the report is written.")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to stdout."
)
@click.option(
    "--fail-on",
    type=click.Choice(list(FAILS)),
    default="stop",
    show_default=True,
    help="Which verdict makes the exit code 1.",
)
@click.option("--trainer", metavar="NAME", help="The trainer, where the automatic choice is wrong.")
@click.option(
    "--rate", type=float, metavar="MONEY", help="What an hour of the run costs, for the cost since the break."
)
def command(
    paths: tuple[str, ...], format_: str, output: Path | None, fail_on: str, trainer: str | None, rate: float | None
) -> None:
    """Say which link of the training loop broke first, when, why, and what to do.

    PATH is a file or folder that a trainer wrote, or a folder of several runs. Exit code 0: continue or watch;
    1: stop or rollback; 2: the input could not be read.
    """
    runs = [run for path in paths for run in find_runs(path)]
    several = len(runs) > 1
    diagnoses = []
    for i, path in enumerate(runs, 1):
        if several:
            click.echo(f"[{i}/{len(runs)}] {path}", err=True)
        diagnoses.append(diagnose(read(path, trainer=trainer), rate_per_hour=rate))
    report(diagnoses, format_, output)
    if any(dx.verdict.action in FAILS[fail_on] for dx in diagnoses):
        sys.exit(1)


def report(diagnoses: Sequence[Diagnosis], format_: str, output: Path | None = None) -> None:
    """One report over all diagnoses, to stdout or into a file."""
    match format_:
        case "json":
            from firstbreak.reports import json

            write(json.render(diagnoses[0]) if len(diagnoses) == 1 else json.render_all(diagnoses), output)
        case "html":
            from firstbreak.reports import html

            write(html.render(diagnoses[0]) if len(diagnoses) == 1 else html.render_all(diagnoses), output)
        case "markdown":
            from firstbreak.reports import markdown

            write("\n\n".join(markdown.render(dx) for dx in diagnoses), output)
        case _:
            from firstbreak.reports import terminal

            if output is None and on_a_terminal():
                show([terminal.renderable(dx) for dx in diagnoses])
            else:
                write("\n\n".join(terminal.render(dx, color=False) for dx in diagnoses), output)
