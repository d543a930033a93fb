"""firstbreak inspect PATH"""

from __future__ import annotations

import sys

import click

from firstbreak.engine.read import find_runs, read


@click.command("inspect")
@click.argument("path")
@click.option(
    "--format", "format_", type=click.Choice(("terminal", "json")), default="terminal", help="How it is written."
)
@click.option("--trainer", metavar="NAME", help="The trainer, where the automatic choice is wrong.")
def command(path: str, format_: str, trainer: str | None) -> None:
    """Show what was recognised: format, trainer, each metric with what it really is, configuration, samples, gaps."""
    from firstbreak.reports import inspection

    runs = [read(run, trainer=trainer) for run in find_runs(path)]
    if format_ == "json":
        click.echo(inspection.render_json(runs))
        return
    click.echo("\n\n".join(inspection.render(run, color=sys.stdout.isatty()) for run in runs))
