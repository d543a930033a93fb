"""firstbreak explain NAME"""

from __future__ import annotations

import click

from firstbreak.reports.explanation import contents, explain


@click.command("explain")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Explain a detector, cause, experiment, metric (its name here or as logged), link, hyperparameter, trainer or reader.

    Without NAME: list all names.
    """
    click.echo(contents() if name is None else explain(name))
