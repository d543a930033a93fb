"""firstbreak check context RUN"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli.check import reported

if TYPE_CHECKING:
    from firstbreak.preflight import Report


@click.command("context")
@click.argument("run", metavar="FOLDER")
@click.option("--record", is_flag=True, help="Write it first; in a training script: firstbreak.context.record(...).")
@click.option("--config", metavar="PATH", help="The options that go into the record.")
@click.option("--code", metavar="FOLDER", help="The repository of the code; the current folder where not given.")
@reported
def command(**options: Any) -> Report:
    """Check that it is recorded what a run is made with, and that it still is what lies here.

    The record is firstbreak-context.json in the run's folder; secrets are masked in it.
    """
    from firstbreak.preflight import context

    return context.check(**options)
