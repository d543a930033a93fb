"""firstbreak diagnose PATH..."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from firstbreak.cli import EXIT_BAD_INPUT
from firstbreak.cli._output import complain, on_a_terminal, show, write
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.read import find_runs, read
from firstbreak.model import Action, Diagnosis
from firstbreak.readers import Unreadable

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
    "--rate",
    type=click.FloatRange(min=0),
    metavar="MONEY",
    help="What an hour of the run costs, for the cost since the break.",
)
@click.option("--recursive", is_flag=True, help="All runs below PATH, one line each, what needs attention first.")
@click.option(
    "--processes", type=click.IntRange(1), help="With --recursive: runs at a time.  [default: the number of cores]"
)
@click.option("--ray", "address", help="With --recursive: use this Ray cluster: auto, local or ray://host:port.")
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --recursive: where rows are kept to go on from.  [default: in the user's cache]",
)
def command(
    paths: tuple[str, ...],
    format_: str,
    output: Path | None,
    fail_on: str,
    trainer: str | None,
    rate: float | None,
    recursive: bool,
    processes: int | None,
    address: str | None,
    store: Path | None,
) -> None:
    """Say which link of the training loop broke first, when, why, and what to do.

    PATH is a file or folder that a trainer wrote, or a folder of several runs. Exit code 0: continue or watch;
    1: stop or rollback; 2: the input could not be read.
    """
    if recursive:
        actions = _survey(paths, format_, output, trainer, processes, address, store)
        if actions & {action.value for action in FAILS[fail_on]}:
            sys.exit(1)
        return
    runs = [run for path in paths for run in find_runs(path)]
    several = len(runs) > 1
    diagnoses, unread = [], False
    for i, path in enumerate(runs, 1):
        if several:
            click.echo(f"[{i}/{len(runs)}] {path}", err=True)
        try:
            diagnoses.append(diagnose(read(path, trainer=trainer), rate_per_hour=rate))
        except Unreadable as error:  # `runs/*` may hold a note among the runs: the others are still told
            if i == len(runs) and not diagnoses:
                raise
            complain(error)
            unread = True
    report(diagnoses, format_, output, several=several)
    if unread:
        sys.exit(EXIT_BAD_INPUT)
    if any(dx.verdict.action in FAILS[fail_on] for dx in diagnoses):
        sys.exit(1)


def _survey(
    paths: tuple[str, ...],
    format_: str,
    output: Path | None,
    trainer: str | None,
    processes: int | None,
    address: str | None,
    store: Path | None,
) -> set[str]:
    """Write the table of all runs below the paths; the verdicts that occur."""
    import json
    import os
    import shutil
    from dataclasses import asdict

    from firstbreak.engine.read import existing
    from firstbreak.fleet import survey, table
    from firstbreak.fleet.runs import cache

    if format_ == "html":
        raise click.UsageError("--recursive writes terminal, json or markdown")
    for path in paths:
        existing(path)

    def progress(done: int, total: int) -> None:
        if done % 100 == 0 or done == total:
            click.echo(f"[{done}/{total}]", err=True)

    rows = survey(
        paths,
        store=store or cache(paths),
        processes=processes or os.cpu_count() or 1,
        ray_address=address,
        trainer=trainer,
        report=progress,
    )
    match format_:
        case "json":
            write(json.dumps({"schema": "firstbreak.fleet/1", "runs": [asdict(row) for row in rows]}, indent=1), output)
        case "markdown":
            write(table.markdown(rows), output)
        case _:
            write(table.render(rows, shutil.get_terminal_size((100, 24)).columns), output)
    return {row.action for row in rows}


def report(diagnoses: Sequence[Diagnosis], format_: str, output: Path | None = None, *, several: bool = False) -> None:
    """One report over all diagnoses, to stdout or into a file; of `several` runs it is a list, however many were read."""
    match format_:
        case "json":
            from firstbreak.reports import json

            write(json.render_all(diagnoses) if several else json.render(diagnoses[0]), output)
        case "html":
            from firstbreak.reports import html

            write(html.render_all(diagnoses) if several else html.render(diagnoses[0]), output)
        case "markdown":
            from firstbreak.reports import markdown

            write("\n\n".join(markdown.render(dx) for dx in diagnoses), output)
        case _:
            from firstbreak.reports import terminal

            if output is None and on_a_terminal():
                show([terminal.renderable(dx) for dx in diagnoses])
            else:
                write("\n\n".join(terminal.render(dx, color=False) for dx in diagnoses), output)
