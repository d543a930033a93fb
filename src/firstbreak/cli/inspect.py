"""firstbreak inspect PATH"""

import click

from firstbreak.cli import _grouping, _options
from firstbreak.cli._output import formats, put, write
from firstbreak.readers import names
from firstbreak.readers.grouping import How


@click.command("inspect")
@click.argument("path")
@formats("terminal", "json", help="Format of the output.")
@_options.trainer
@_options.names
@_grouping.options
@_options.roots
def command(path: str, format_: str, trainer: str | None, named: tuple[str, ...], how: How | None) -> None:
    """Show what a log contains: format, trainer, each metric with its meaning, configuration, samples, missing signals."""
    from firstbreak.reports import inspection

    meanings = names.parsed(named)
    runs = [_grouping.read(run, trainer=trainer, named=meanings) for run in _grouping.runs_of(path, how)]
    if format_ == "json":
        write(inspection.render_json(runs))
    else:
        put([inspection.renderable(run) for run in runs])
