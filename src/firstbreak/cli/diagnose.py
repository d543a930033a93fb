"""firstbreak diagnose PATH..."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

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
    text = render(diagnoses, format_, plain=output is not None or not sys.stdout.isatty())
    if output is None:
        click.echo(text)
    else:
        output.write_text(text + "\n", encoding="utf-8")
    if any(dx.verdict.action in FAILS[fail_on] for dx in diagnoses):
        sys.exit(1)


def render(diagnoses: Sequence[Diagnosis], format_: str, *, plain: bool) -> str:
    """One report over all diagnoses; `plain` leaves colours out of the terminal form."""
    if format_ == "json":
        from firstbreak.reports import json

        return json.render(diagnoses[0]) if len(diagnoses) == 1 else json.render_all(diagnoses)
    if format_ == "html":
        from firstbreak.reports import html

        return html.render(diagnoses[0]) if len(diagnoses) == 1 else html.render_all(diagnoses)
    if format_ == "markdown":
        from firstbreak.reports import markdown

        return "\n\n".join(markdown.render(dx) for dx in diagnoses)
    from firstbreak.reports import terminal

    return "\n\n".join(terminal.render(dx, color=not plain) for dx in diagnoses)
