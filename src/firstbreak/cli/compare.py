"""firstbreak compare RUN RUN..."""

from pathlib import Path

import click

from firstbreak.cli import _grouping, _options
from firstbreak.cli._output import formats, say, to_file, write
from firstbreak.readers.grouping import How


@click.command("compare")
@click.argument("paths", nargs=-1, required=True, metavar="RUN RUN...")
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw all scores into this SVG file.")
@formats("terminal", "html", help="Format of the comparison.")
@to_file
@_options.trainer
@_grouping.options
@_options.roots
def command(
    paths: tuple[str, ...], plot: Path | None, format_: str, output: Path | None, trainer: str | None, how: How | None
) -> None:
    """Compare runs: which settings differ, where curves first differ, and whether the difference is real.

    A folder of several runs is one side, whatever they record. Runs that are named one by one form one side where their
    configuration and code differ only in seed and task. Every side is compared with the first side.
    """
    from firstbreak.compare import page, text
    from firstbreak.compare.arms import arms

    groups = [(path, [_grouping.read(run, trainer=trainer) for run in _grouping.runs_of(path, how)]) for path in paths]
    compared = arms(groups)
    if sum(len(arm.members) for arm in compared) < 2:
        raise click.UsageError("give two or more runs, or a folder with several runs")
    write(page.render(compared) if format_ == "html" else text.render(compared), output)
    if plot is not None:
        from firstbreak.compare.plots import scores

        write(scores(compared), plot)
        say(f"{plot}: the scores of {sum(len(arm.members) for arm in compared)} runs")
    if len(compared) == 1:
        say("these count as runs of one setting; give runs of another setting to compare")
