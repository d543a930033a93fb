"""firstbreak check context RUN"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli.check import reported

if TYPE_CHECKING:
    from firstbreak.preflight import Report


@click.command("context")
@click.argument("run", metavar="FOLDER")
@click.option(
    "--record", is_flag=True, help="Write the record first; in a training script: firstbreak.context.record(...)."
)
@click.option("--config", metavar="PATH", help="The options to record.")
@click.option("--code", metavar="FOLDER", help="The repository of the code.  [default: the current folder]")
@reported
def command(**options: Any) -> Report:
    """Check that the context of a run is recorded, and that the code here is still the same.

    The record is firstbreak-context.json in the run's folder; secrets are masked in it.
    """
    from firstbreak.preflight import context

    return context.check(**options)
