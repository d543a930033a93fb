"""firstbreak check context RUN"""

from typing import Any

import click

from firstbreak.cli.check import reported


@click.command("context")
@click.argument("run", metavar="FOLDER")
@click.option("--record", is_flag=True, help="Write the record first; in a script: firstbreak.context.record(...).")
@click.option("--config", metavar="PATH", help="The options to record.")
@click.option("--code", metavar="FOLDER", help="The repository of the code.  [default: the current folder]")
@reported("context")
def command(**options: Any) -> dict[str, Any]:
    """Check that the context of a run is recorded, and that the code here is still the same.

    The record is firstbreak-context.json in the run's folder; secrets are masked in it.
    """
    return options
